"""The whole way of one job: from the command line through the API, a worker process and the vault."""

import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import httpx

from .shoal_command import REPOSITORY, Shoal


def test_hello_runs_and_its_artifact_arrives(shoal: Shoal, tmp_path: Path) -> None:
    url = shoal.up("--app", "examples.hello:app")
    arguments = ("--params", '{"name": "Ada"}', "--watch", "--save", str(tmp_path))
    job = shoal.json("job", "start", "hello", *arguments)
    assert job["status"] == "complete"
    assert job["progress"] == {
        "percent": 100,
        "phase": "complete",
        "docsComplete": 1,
        "docsTotal": 1,
        "message": "",
    }
    assert job["result"] == "Hello, Ada!"
    assert [artifact["type"] for artifact in job["artifacts"]] == ["text"]
    (kept,) = job["kept"].values()
    assert Path(kept).read_text() == "Hello, Ada!\n"
    assert shoal.json("job", "show", job["id"])["result"] == "Hello, Ada!"
    listed = shoal.json("job", "artifacts", job["id"], "--save", str(tmp_path / "again"))
    assert [one["name"] for one in listed["artifacts"]] == ["greeting.txt"]
    assert Path(*listed["kept"].values()).read_text() == "Hello, Ada!\n"
    assert [one["id"] for one in shoal.json("job", "list")["jobs"]] == [job["id"]]
    assert shoal.json("status")["status"] == "healthy"
    assert "# TYPE shoal_queue_tasks_ready gauge" in httpx.get(f"{url}/metrics", trust_env=False).text
    assert all(finding["ok"] for finding in shoal.json("doctor"))


def test_links_are_signed_and_end(shoal: Shoal) -> None:
    shoal.environment["SHOAL_LINK_EXPIRY_S"] = "4"
    shoal.up("--app", "examples.hello:app")
    job = shoal.json("job", "start", "hello", "--watch")
    url = shoal.json("job", "show", job["id"])["artifacts"][0]["url"]
    whole = httpx.get(url, trust_env=False)
    assert (whole.status_code, whole.text) == (200, "Hello, world!\n")
    assert whole.headers["content-type"].startswith("text/plain")
    part = httpx.get(url, headers={"Range": "bytes=0-4"}, trust_env=False)
    assert (part.status_code, part.text) == (206, "Hello")
    deadline = time.monotonic() + 20
    while (late := httpx.get(url, trust_env=False)).status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert late.json()["code"] == "link_expired"
    tampered = httpx.get(url.replace("greeting", "greetinG"), trust_env=False)
    assert tampered.json()["code"] == "link_invalid"


def test_a_job_with_wrong_parameters_fails_with_the_reason(shoal: Shoal) -> None:
    shoal.up("--app", "examples.hello:app")
    done = shoal.run("job", "start", "hello", "--params", '{"name": 7}', "--watch")
    assert done.returncode == 1
    assert "invalid_params" in done.stdout


def test_an_unknown_job_type_says_what_is_missing(shoal: Shoal) -> None:
    shoal.up()
    done = shoal.run("job", "start", "nothing")
    assert done.returncode == 3
    assert "(unknown_job_type)" in done.stderr


def test_what_was_done_is_still_there_after_down_and_up(shoal: Shoal) -> None:
    shoal.up("--app", "examples.hello:app")
    job = shoal.json("job", "start", "hello", "--watch")
    shoal.down()
    shoal.up()
    assert shoal.json("job", "show", job["id"])["result"] == "Hello, world!"


def test_a_backup_restores_jobs_and_files(shoal: Shoal, tmp_path: Path) -> None:
    shoal.up("--app", "examples.hello:app")
    job = shoal.json("job", "start", "hello", "--watch")
    shoal.ok("backup", str(tmp_path / "backup"))
    shoal.down()
    copy = Shoal(shoal.data_dir.parent / "copy")
    copy.ok("restore", str(tmp_path / "backup"))
    copy.up()
    try:
        again = copy.json("job", "watch", job["id"], "--save", str(tmp_path / "kept"))
        (kept,) = again["kept"].values()
        assert Path(kept).read_text() == "Hello, world!\n"
    finally:
        copy.down()


def test_keys_are_issued_listed_rotated_and_revoked(shoal: Shoal) -> None:
    url = shoal.up()

    def who(key: str) -> int:
        answer = httpx.get(f"{url}/api/me", headers={"Authorization": f"Bearer {key}"}, trust_env=False)
        return answer.status_code

    first = shoal.json("key", "issue", "backend")["key"]
    second = shoal.json("key", "rotate", "backend", "--grace-hours", "0")["key"]
    assert (who(first), who(second)) == (401, 200)
    shoal.ok("key", "revoke", "backend")
    assert who(second) == 401
    assert {one["state"] for one in shoal.json("key", "list")} == {"ended"}


def test_the_version_is_told() -> None:
    told = subprocess.check_output([sys.executable, "-m", "shoal", "--version"], text=True)
    assert told.split() == ["shoal", version("shoal")]


def test_the_smallest_example_stays_small() -> None:
    lines = (REPOSITORY / "examples" / "hello.py").read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 20
