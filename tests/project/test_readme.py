"""The session on the README's first screen is what really happens."""

import doctest
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.2.0", reason="older NumPy prints arrays differently"
)
def test_the_session_is_real(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = README.read_text(encoding="utf-8").split("```pycon\n")[1].split("```")[0]
    test = doctest.DocTestParser().get_doctest(session, {}, "README", str(README), 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.DocTestRunner(optionflags=flags).run(test).failed == 0
    assert Path("triage.json").exists()
