"""The engines: DuckDB and SQLite in this process, and a PostgreSQL server of one's own."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from .engines import InDuckDB, InPostgres, InSQLite

# Debian keeps the server's programs out of the path.
_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parts[-2])


@pytest.fixture(params=["duckdb", "sqlite"])
def engine(request):
    """Each of the two engines that need no server."""
    pytest.importorskip("sqlglot", reason="SQL export needs the extra 'sql'")
    if request.param == "duckdb":
        pytest.importorskip("duckdb", reason="needs DuckDB to run the query")
    made = {"duckdb": InDuckDB, "sqlite": InSQLite}[request.param]()
    yield made
    made.close()


@pytest.fixture(scope="session")
def postgres_server():
    """The folder of a PostgreSQL server that listens there, for this session alone."""
    pytest.importorskip("psycopg", reason="needs psycopg to talk to PostgreSQL")
    programs = [*reversed(_PROGRAMS), *(Path(one) for one in os.get_exec_path())]
    bin_ = next((one for one in programs if (one / "initdb").exists()), None)
    if bin_ is None:
        pytest.skip(
            "NOT TESTED ON POSTGRESQL: no server is installed. On Debian: "
            "apt-get install postgresql"
        )
    # The server refuses to be started by root.
    user = next((u for u in ("postgres", "nobody") if _known(u)), None) if _root() else None
    if _root() and (user is None or shutil.which("runuser") is None):
        pytest.skip(
            "NOT TESTED ON POSTGRESQL: it does not run as root, and there is no other user"
        )
    as_user = ["runuser", "-u", user, "--"] if user else []
    with tempfile.TemporaryDirectory(prefix="abstain-pg-") as folder:
        if user:
            shutil.chown(folder, user)
        data = Path(folder) / "data"

        def call(program, *arguments):
            command = [*as_user, str(bin_ / program), "-D", str(data), *arguments]
            # Not to a pipe, which the server would hold open.
            with open(Path(folder) / "said", "ab") as said:
                done = subprocess.run(
                    command, cwd="/", stdout=said, stderr=said, timeout=60, check=False
                )
            assert done.returncode == 0, (Path(folder) / "said").read_text()

        call("initdb", "-U", "abstain", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        call("pg_ctl", "-w", "-o", options, "start")
        try:
            yield folder
        finally:
            call("pg_ctl", "-w", "-m", "immediate", "stop")


@pytest.fixture
def postgres(postgres_server):
    """A connection to the server."""
    engine = InPostgres(host=postgres_server, user="abstain", dbname="postgres")
    yield engine
    engine.close()


def _root():
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _known(user):
    return subprocess.run(["id", "-u", user], capture_output=True, check=False).returncode == 0
