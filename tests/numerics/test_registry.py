"""The one registry of names that metrics, scores, calibrators and shift estimators have."""

import pytest

from abstain._numerics import Registry


def test_a_name_stands_for_one_thing():
    with pytest.raises(ValueError, match="registered twice"):
        Registry("metric", [("auroc", 1), ("auroc", 2)])
