"""How often a worker looks for cycles of dead objects."""

import gc

from shoal.runtime.garbage import SELDOM, USUAL, SeldomGarbage


async def test_garbage_is_looked_for_seldom_until_the_part_stops() -> None:
    part = SeldomGarbage()
    await part.start()
    try:
        assert gc.get_threshold() == SELDOM
        assert gc.get_freeze_count() > 0
    finally:
        await part.stop()
    assert gc.get_threshold() == USUAL
    assert gc.get_freeze_count() == 0
