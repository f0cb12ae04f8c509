"""Where the sockets of a data directory are."""

from pathlib import Path

import pytest

from shoal.local.sockets import LONGEST_SOCKET_PATH, socket_directory


def test_sockets_are_in_the_data_directory_if_its_path_allows_it() -> None:
    assert socket_directory(Path("/srv/shoal_1.d/data-2")) == Path("/srv/shoal_1.d/data-2/run")


@pytest.mark.parametrize("name", ["x" * 85, "é" * 60, "a b", "a,b", "a%20b", 'a"b', "a?b", "a#b"])
def test_any_other_path_has_a_short_plain_place_of_its_own(name: str) -> None:
    place = socket_directory(Path("/") / name)
    assert place == socket_directory(Path("/") / name)
    assert place != socket_directory(Path("/other") / name)
    assert len(f"{place}/.s.PGSQL.5432") <= LONGEST_SOCKET_PATH
    assert not place.is_relative_to(Path("/") / name)


def test_the_longest_path_that_fits_is_used() -> None:
    room = LONGEST_SOCKET_PATH - len("//run/.s.PGSQL.5432")
    for length, fits in ((room, True), (room + 1, False)):
        path = Path("/") / ("x" * length)
        assert (socket_directory(path) == path / "run") is fits
