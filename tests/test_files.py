import os
import signal
from pathlib import Path

import pytest

from abstain._files import discard_unfinished, landing, landing_in, replacing, write_text


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "decisions.csv"
    path.write_text("old")

    def write_half():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        write_half()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["decisions.csv"]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no-links"])
@pytest.mark.parametrize("open_file", ["decisions.csv", "policy.json", "report.html"])
def test_where_one_is_open_elsewhere_all_stay_what_they_were(
    open_file, links, tmp_path, monkeypatch
):
    """As on Windows, where what another program has open can be neither replaced nor moved."""
    names = ["decisions.csv", "policy.json", "report.html"]
    for name in [*names[:2], open_file]:
        (tmp_path / name).write_text(f"old {name}")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    replace = Path.replace

    def refused(self, target):
        if open_file in (self.name, Path(target).name):
            raise PermissionError(13, "used by another process", str(target))
        return replace(self, target)

    def no_links(*_):
        raise OSError("no links here")

    monkeypatch.setattr(Path, "replace", refused)
    if not links:
        monkeypatch.setattr(os, "link", no_links)

    def write():
        with landing() as place:
            for name in names:
                place(tmp_path / name).write_text("new")

    with pytest.raises(PermissionError, match="used by another"):
        write()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_text(tmp_path / "nowhere" / "file.txt", "text")


def test_a_written_file_is_as_readable_as_others(tmp_path):
    write_text(tmp_path / "ours", "x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_links_are_written_through_and_stay(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_what_is_no_plain_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, message in (("pipe", "it is a pipe"), ("loop", "a link to itself")):
        with pytest.raises(ValueError, match=message):
            write_text(tmp_path / name, "text")
    with pytest.raises(ValueError, match="it is a folder"):
        write_text(tmp_path, "text")
    with pytest.raises(ValueError, match="no name of a file"):
        write_text("a\0b", "text")
    with pytest.raises(ValueError, match="it is a device"):
        write_text(os.devnull, "text")


def test_a_folder_that_was_made_for_nothing_is_gone(tmp_path):
    def write():
        with landing_in(tmp_path / "a" / "b") as place:
            place(tmp_path / "a" / "b" / "file").write_text("half")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        write()
    assert not [*tmp_path.iterdir()]
    (tmp_path / "file").write_text("a file")
    with pytest.raises(ValueError, match="cannot be made a folder"), landing_in(tmp_path / "file"):
        pass


def test_a_signal_waits_until_files_are_in_place(tmp_path, monkeypatch, interruptible):
    usual = Path.replace

    def replace(self, target):
        signal.raise_signal(signal.SIGINT)
        return usual(self, target)

    monkeypatch.setattr(Path, "replace", replace)

    def write():
        with landing() as place:
            place(tmp_path / "a").write_text("a")
            place(tmp_path / "b").write_text("b")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_a_stopped_program_left_is_discarded(tmp_path):
    with landing() as place:
        left = place(tmp_path / "a")
        discard_unfinished()
        assert not left.exists()
        left.write_text("again")
