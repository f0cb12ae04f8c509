"""A server that cannot start says why, in one message."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from shoal.local.binaries import postgres_binaries
from shoal.local.directory import DataDirectory
from shoal.local.postgres import EmbeddedPostgres
from shoal.local.server import EmbeddedServer
from shoal.local.servers import servers_of
from shoal.runtime.errors import Invalid, ShoalError

AS_NOBODY = """
import asyncio, os, sys
from pathlib import Path
from shoal.local.directory import DataDirectory
from shoal.local.postgres import EmbeddedPostgres
from shoal.runtime.errors import ShoalError
import asyncpg, psutil

os.environ["PATH"] = ""  # no unshare, as where user namespaces are refused

async def start():
    directory = DataDirectory.prepare(Path("open/data"))
    for home in ("open/data", "closed/data"):
        directory = DataDirectory.prepare(Path(home))
        postgres = EmbeddedPostgres(
            directory.postgres,
            sockets=directory.sockets,
            log_file=directory.logs / "postgres.log",
            binaries=Path("open/site/PACKAGE/pginstall18/bin").resolve(),
        )
        try:
            for _ in range(2):
                await postgres.start()
                sql = await asyncpg.connect(postgres.url)
                user = psutil.Process(postgres.pid).uids().real
                print("runs as", user, await sql.fetchval("SELECT 1"))
                await sql.close()
                await postgres.stop()
        except ShoalError as error:
            print(error.code, error)
        finally:
            await postgres.stop()

asyncio.run(start())
"""


async def refusal(server: EmbeddedServer) -> ShoalError:
    try:
        with pytest.raises(ShoalError) as refused:
            await server.start()
    finally:
        await server.stop()
    return refused.value


def postgres_with(directory: DataDirectory, **given: object) -> EmbeddedPostgres:
    return EmbeddedPostgres(
        directory.postgres,
        sockets=directory.sockets,
        log_file=directory.logs / "postgres.log",
        **given,  # type: ignore[arg-type]  # the tests say which
    )


async def test_files_of_another_major_version_are_refused_by_name(empty: DataDirectory) -> None:
    directory = DataDirectory.prepare(empty.path)
    (directory.postgres / "data").mkdir()
    (directory.postgres / "data" / "PG_VERSION").write_text("14\n")
    postgres, _ = servers_of(directory)
    refused = await refusal(postgres)
    assert refused.code == "postgres_version_mismatch"
    assert "PostgreSQL 14" in refused.message
    assert "PostgreSQL 18" in refused.message


async def test_a_directory_that_is_no_database_is_refused(empty: DataDirectory) -> None:
    directory = DataDirectory.prepare(empty.path)
    (directory.postgres / "data").mkdir()
    postgres, _ = servers_of(directory)
    assert (await refusal(postgres)).code == "postgres_files_damaged"


async def test_the_reason_in_the_log_of_postgres_is_told(empty: DataDirectory) -> None:
    directory = DataDirectory.prepare(empty.path)
    (directory.postgres / "data").mkdir()
    (directory.postgres / "data" / "PG_VERSION").write_text("18\n")
    refused = await refusal(postgres_with(directory, parameters={"shared_buffers": "plenty"}))
    assert refused.code == "postgres_failed_to_start"
    assert 'invalid value for parameter "shared_buffers"' in refused.message
    assert str(directory.logs / "postgres.log") in refused.hint


async def test_the_reason_in_the_log_of_valkey_is_told(empty: DataDirectory) -> None:
    directory = DataDirectory.prepare(empty.path)
    (directory.valkey / "appendonlydir").mkdir()
    (directory.valkey / "appendonlydir" / "appendonly.aof.manifest").write_text("nonsense\n")
    _, valkey = servers_of(directory)
    refused = await refusal(valkey)
    assert refused.code == "valkey_failed_to_start"
    assert "manifest" in refused.message
    assert "moved away" in refused.hint


async def test_programs_that_are_not_there_are_named(empty: DataDirectory, tmp_path: Path) -> None:
    directory = DataDirectory.prepare(empty.path)
    refused = await refusal(postgres_with(directory, binaries=tmp_path / "nowhere"))
    assert refused.code == "postgres_failed_to_start"
    assert str(tmp_path / "nowhere") in refused.message


async def test_a_socket_path_that_cannot_work_is_refused_at_once(tmp_path: Path) -> None:
    sockets = tmp_path / ("x" * 120)
    server = EmbeddedPostgres(tmp_path / "home", sockets=sockets, log_file=tmp_path / "log")
    refused = await refusal(server)
    assert isinstance(refused, Invalid)
    assert refused.code == "socket_path_too_long"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
async def test_root_without_user_namespaces_runs_postgres_as_nobody_or_says_what_is_closed(
    in_own_mounts_of_root: Callable[[str, str], Awaitable[str]], open_place: Path
) -> None:
    package = postgres_binaries().parent.parent
    said = await in_own_mounts_of_root(
        f"cd {open_place}; mkdir -p open/site closed; chmod 755 open open/site; chmod 700 closed; "
        f"mount --bind {package.parent} open/site",
        AS_NOBODY.replace("PACKAGE", package.name),
    )
    assert said.count("runs as 65534 1") == 2, said
    assert "postgres_cannot_run_as_root" in said
    assert str(open_place / "closed") in said
