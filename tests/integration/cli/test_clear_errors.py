"""What people do wrong, and what they are told: one message, what to do, an exit code."""

import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import asyncpg
import httpx

from shoal.local.directory import DataDirectory
from shoal.local.servers import servers_of

from .shoal_command import REPOSITORY, Shoal, refused


def test_an_unknown_setting_names_the_one_that_was_meant(shoal: Shoal) -> None:
    said = refused(shoal.run("up", SHOAL_DATABSE_URL="x"), code="unknown_setting", exit_code=2)
    assert "database_url" in said


def test_a_setting_of_the_wrong_type_is_named_with_its_source(shoal: Shoal) -> None:
    done = shoal.run("up", SHOAL_WORKER_CONCURRENCY="many")
    assert "SHOAL_WORKER_CONCURRENCY" in refused(done, code="invalid_setting", exit_code=2)


def test_a_secret_of_the_wrong_type_is_not_repeated(shoal: Shoal, tmp_path: Path) -> None:
    file = tmp_path / "shoal.toml"
    file.write_text("jwt_secret = 123454321\n")
    done = shoal.run("config", "show", "--config", str(file))
    assert "123454321" not in refused(done, code="invalid_setting", exit_code=2)


def test_a_busy_port_names_the_port(shoal: Shoal) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = shoal.run("up", "--port", str(port))
    assert str(port) in refused(done, code="port_busy", exit_code=5)


def test_a_file_in_the_way_of_the_data_directory(shoal: Shoal) -> None:
    shoal.data_dir.parent.mkdir(exist_ok=True)
    shoal.data_dir.write_text("in the way")
    refused(shoal.run("up"), code="data_dir_unusable", exit_code=2)
    shoal.data_dir.unlink()


def test_a_read_only_data_directory(shoal: Shoal) -> None:
    shoal.data_dir = Path("/proc/shoal")  # not even root can write there
    refused(shoal.run("up"), code="data_dir_unusable", exit_code=2)


def test_an_unreachable_redis_is_named_without_its_password(shoal: Shoal) -> None:
    done = shoal.run("up", "--port", "0", SHOAL_REDIS_URL="redis://:secret@127.0.0.1:1/0")
    said = refused(done, code="redis_unreachable", exit_code=7)
    assert "127.0.0.1:1" in said
    assert "secret" not in said


def test_an_unreachable_database_is_named_without_its_password(shoal: Shoal) -> None:
    done = shoal.run("up", "--port", "0", SHOAL_DATABASE_URL="postgresql://me:secret@127.0.0.1:1/x")
    said = refused(done, code="database_unreachable", exit_code=7)
    assert "127.0.0.1:1" in said
    assert "secret" not in said


def test_a_second_up_names_the_first(shoal: Shoal) -> None:
    url = shoal.up()
    assert url in refused(shoal.run("up", "--port", "0"), code="data_dir_in_use", exit_code=5)


async def test_a_database_of_a_newer_schema_is_left_alone(shoal: Shoal) -> None:
    shoal.up()
    postgres, _ = servers_of(DataDirectory(shoal.data_dir))
    connection = await asyncpg.connect(postgres.url)
    await connection.execute("INSERT INTO shoal.migrations (version, name, checksum) VALUES (9999, 'x', 'x')")
    await connection.close()
    shoal.down()
    refused(shoal.run("up", "--port", "0"), code="schema_too_new", exit_code=5)


def test_an_app_that_cannot_be_found(shoal: Shoal) -> None:
    done = shoal.run("worker", "run", "examples.nothing:app", SHOAL_DATABASE_URL="postgresql://x")
    assert "examples.nothing" in refused(done, code="app_not_found", exit_code=2)


def test_an_app_that_cannot_be_found_ends_up_as_well(shoal: Shoal) -> None:
    done = shoal.run("up", "--port", "0", "--app", "examples.nothing:app")
    assert done.returncode == 7
    assert "(app_not_found)" in done.stderr
    assert "Traceback" not in done.stderr


def test_in_the_background_as_well(shoal: Shoal) -> None:
    done = shoal.run("up", "--detach", "--port", "0", "--app", "examples.nothing:app")
    assert done.returncode == 7
    assert done.stderr.startswith("error: The module examples.nothing cannot be found")
    assert done.stderr.rstrip().endswith("(worker_failed_to_start)")
    assert "{" not in done.stderr


def test_who_only_looks_leaves_nothing_in_a_folder_that_is_no_data_directory(shoal: Shoal) -> None:
    shoal.data_dir.mkdir()
    (shoal.data_dir / "letter.txt").touch()
    shoal.ok("doctor")
    shoal.ok("down")
    shoal.ok("config", "show")
    target = shoal.data_dir.parent / "copy"
    refused(shoal.run("backup", str(target)), code="data_dir_missing", exit_code=2)
    for command in (("status",), ("job", "list")):
        refused(shoal.run(*command), code="nothing_running", exit_code=7)
    assert [file.name for file in shoal.data_dir.iterdir()] == ["letter.txt"]
    assert not target.exists()


def test_a_worker_without_an_up_says_how_to_start_one(shoal: Shoal) -> None:
    done = shoal.run("worker", "run", "examples.hello:app")
    assert "shoal up" in refused(done, code="database_not_configured", exit_code=2)


def test_commands_without_an_up_say_how_to_start_one(shoal: Shoal) -> None:
    assert "shoal up" in refused(shoal.run("job", "list"), code="nothing_running", exit_code=7)


def test_a_closed_pipe_is_not_a_defect(shoal: Shoal) -> None:
    listing = subprocess.Popen(
        [sys.executable, "-m", "shoal", "config", "show", "--data-dir", str(shoal.data_dir)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert listing.stdout is not None
    assert listing.stderr is not None
    listing.stdout.close()
    said = listing.stderr.read()
    listing.stderr.close()
    listing.wait(30)
    assert b"Traceback" not in said


def test_nobody_gets_in_without_a_token(shoal: Shoal) -> None:
    url = shoal.up()
    answer = httpx.get(f"{url}/api/jobs", trust_env=False)
    assert answer.status_code == 401
    assert answer.json()["code"] == "token_missing"
