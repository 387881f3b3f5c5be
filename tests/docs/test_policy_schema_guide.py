"""The guide has the schema of the policy file, as it is now."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_schema_is_up_to_date():
    spec = importlib.util.spec_from_file_location("schema", DOCS / "generate_policy_schema.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), (
        "run: python docs/generate_policy_schema.py"
    )
