"""The guide has the schema of the policy file, as it is now."""


def test_the_schema_is_up_to_date(script, forget):
    made = script("generate_policy_schema")
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), (
        "run: python docs/generate_policy_schema.py"
    )
