"""Write the schema of the policy file into the guide, from its declaration.

Run ``python docs/generate_policy_schema.py`` after changing the schema; a test says when to.
"""

from pathlib import Path

from abstain._schema import SCHEMA_VERSION, listed
from abstain.policy import POLICY

PAGE = Path(__file__).parent / "guide" / "policy-schema.md"
HEAD = f"""<!-- Written by docs/generate_policy_schema.py; do not edit. -->

# The schema of a policy file

Every key of a policy file, of schema version {SCHEMA_VERSION}; files of earlier versions are
lifted to it first. A key with a question mark may be left out; any other key must be there, and no
other may. Names in brackets after a key are the kinds of the part that have it. Numbers are finite
and at most 1e300 either way; how many there are is in brackets, as what there is one for each of.
{{doc}}`policies` says what the keys are for. A calibrator, a region, a rule or a shift estimator
of your own adds its keys when it is registered: {{doc}}`your-own-parts`.

| key | must be |
| --- | --- |
"""


def page() -> str:
    """Return the whole page."""
    return HEAD + "".join(f"| `{key}` | {words} |\n" for key, words in listed(POLICY))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
