from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .swarm import Mesh


@pytest.fixture
async def mesh(tmp_path: Path) -> AsyncIterator[Mesh]:
    async with Mesh(tmp_path) as mesh:
        yield mesh
