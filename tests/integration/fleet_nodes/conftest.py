"""A place for each test; what is left of it at the end is killed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.scenarios.processes import kill_all

from .place import Place

OpenPlace = Callable[..., Awaitable[Place]]


@pytest.fixture
async def open_place(tmp_path: Path) -> AsyncIterator[OpenPlace]:
    places: list[Place] = []

    async def opened(*arguments: str) -> Place:
        place = Place(tmp_path, *arguments)
        places.append(place)
        await place.up.start()
        return place

    yield opened
    for place in places:
        place.close()
        for process in (*place.nodes, place.up):
            if process.is_alive:
                await process.stop()
    kill_all(tmp_path)
