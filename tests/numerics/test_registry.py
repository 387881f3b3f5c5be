"""The one registry of names that metrics, scores, calibrators and shift estimators have."""

import pytest

from abstain._numerics import Registry
from abstain.metrics import AUROC


def test_a_name_stands_for_one_thing():
    with pytest.raises(ValueError, match="registered twice"):
        Registry("metric", [AUROC, AUROC], "head")
