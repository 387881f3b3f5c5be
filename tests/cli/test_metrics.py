"""``abstain metrics`` lists what ``--metric`` takes."""

import json

from abstain import metrics


def test_list_for_people(abstain):
    code, out, _ = abstain("metrics")
    assert code == 0
    assert "kappa:quadratic" in out
    assert "share of examples predicted right" in out


def test_list_for_machines(abstain):
    code, out, _ = abstain("metrics", "--json")
    assert code == 0
    listed = json.loads(out)
    assert [entry["name"] for entry in listed] == [name for name, _ in metrics.summaries()]
