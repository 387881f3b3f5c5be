"""Run Python where nothing can be written: in a mount namespace whose file system is read-only.

Permission bits would not do: they do not hold for the superuser, and leave /tmp as it is.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import abstain

# Everything but what the kernel itself puts up, as in a container that is started read-only.
LOCKED = """
awk '{print $5}' /proc/self/mountinfo | sort -u | while read -r mount; do
  case $mount in /proc*|/sys*|/dev*) continue;; esac
  mount -o remount,bind,ro "$mount" 2>/dev/null
done
exec "$@"
"""
PROBE = """
import pathlib, sys, tempfile
for folder in (sys.argv[1], "/tmp"):
    try:
        pathlib.Path(folder, "probe").touch()
    except OSError:
        continue
    sys.exit(f"{folder} can be written")
"""


class Installation:
    """A copy of the package; once it is locked, nothing at all can be written."""

    def __init__(self, folder):
        self.folder = folder
        source = Path(abstain.__file__).parent
        shutil.copytree(source, folder / "abstain", ignore=shutil.ignore_patterns("__pycache__"))
        others = ("XDG_CACHE_HOME", "TMPDIR", "TEMP", "TMP")
        self.environment = {key: os.environ[key] for key in os.environ if key not in others}
        self.environment |= {"PYTHONPATH": str(folder), "HOME": str(folder / "nowhere")}
        self.around = []

    def lock(self):
        """Let nothing be written from here on; skip the test where that cannot be had."""
        if shutil.which("unshare") is None:
            pytest.skip("NOT TESTED: a read-only file system needs unshare, of Linux")
        self.around = ["unshare", "--mount", "--map-root-user", "sh", "-c", LOCKED, "sh"]
        tried = self.run(PROBE, str(self.folder), check=False)
        if tried.returncode:
            pytest.skip(f"NOT TESTED: no read-only file system can be made here: {tried.stderr}")

    def run(self, code, *arguments, check=True, **environment):
        """Run some code, where any warning is an error."""
        done = subprocess.run(
            [*self.around, sys.executable, "-W", "error", "-c", code, *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment | environment,
        )
        assert not check or done.returncode == 0, done.stderr
        return done
