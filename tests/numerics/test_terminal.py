"""How far a long run has come, on stderr, and only where it is asked for."""

from abstain._numerics import progress


def test_progress_is_on_stderr_only_when_asked(capsys):
    assert list(progress(range(3), "work", show=True)) == [0, 1, 2]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "work [" in captured.err
    assert list(progress(range(3), "work")) == [0, 1, 2]
    assert capsys.readouterr().err == ""
