"""Rows come out of processes of their own, and one that fails is kept with its error."""

from benchmarks.proof import _measure


def test_a_row_that_fails_is_kept(monkeypatch, capsys):
    class Failing:
        @staticmethod
        def lines(name):
            raise KeyError(name)

    monkeypatch.setattr(_measure, "module_of", lambda section: Failing)
    found = _measure._row("estimates", "gone")
    assert found["error"] == "KeyError: 'gone'"
    assert found["lines"] == []
    assert "KeyError" in capsys.readouterr().err


def test_a_row_in_a_process_of_its_own():
    # No such set, so that nothing but the way there and back is tried.
    ((name, found),) = _measure.measured("estimates", ["no such set"], 1)
    assert name == "no such set"
    assert found["error"].startswith("KeyError")
