"""What is told of a server's log."""

from pathlib import Path

from shoal.local.server_log import advise, explain, open_log

POSTGRES = """\
2026-11-18 21:35:16.001 UTC [7243] LOG:  starting PostgreSQL 18.4
2026-11-18 21:35:16.002 UTC [7243] FATAL:  could not create lock file: No space left on device
2026-11-18 21:35:16.003 UTC [7243] LOG:  database system is shut down
"""
VALKEY = """\
8229:M 18 Nov 2026 21:37:54.801 * Valkey is starting
8229:M 18 Nov 2026 21:37:54.834 # Can't open the append-only file: Permission denied
"""


def test_only_the_telling_lines_are_told_without_their_prefixes(tmp_path: Path) -> None:
    told = explain(POSTGRES, tmp_path)
    assert told == "FATAL:  could not create lock file: No space left on device"
    told = explain(VALKEY, tmp_path)
    assert told == "Can't open the append-only file: Permission denied"


def test_where_the_disk_is_full_people_are_told_to_make_room(tmp_path: Path) -> None:
    log = tmp_path / "postgres.log"
    assert advise(explain(POSTGRES, tmp_path), log).startswith("Make room on the disk")
    assert advise(explain(VALKEY, tmp_path), log) == f"The whole log is {log}."


def test_without_telling_lines_the_last_ones_are_told(tmp_path: Path) -> None:
    assert explain("one\ntwo\n\nthree\nfour\nfive\n", tmp_path) == "two; three; four; five"
    assert explain("", tmp_path) == "it printed nothing"


def test_a_log_that_grew_large_makes_room_and_one_older_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "server.log"
    for marker in (b"first", b"second", b"third"):
        with open_log(log) as file:
            file.write(marker + b"x" * 11 * 1024 * 1024)
    assert log.read_bytes().startswith(b"third")
    assert (tmp_path / "logs" / "server.log.1").read_bytes().startswith(b"second")
    with open_log(tmp_path / "small.log") as file:
        file.write(b"a")
    with open_log(tmp_path / "small.log") as file:
        file.write(b"b")
    assert (tmp_path / "small.log").read_bytes() == b"ab"
