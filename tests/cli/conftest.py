import pytest

from abstain.cli import run_command


@pytest.fixture
def abstain(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder and return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = run_command([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run
