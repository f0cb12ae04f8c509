"""Looking for cycles of dead objects less often, in a process that makes thousands of objects a second.

A worker under load holds thousands of tasks, which all live longer than the collector's first two looks. At
Python's default of one look for every 700 new objects, half of the worker's time went into finding nothing.
"""

import gc

from shoal.runtime.lifecycle import Part

USUAL = gc.get_threshold()
SELDOM = (5000, 10, 10)


class SeldomGarbage(Part):
    """What is there at the start is never looked at again; what comes later, seven times less often."""

    name = "garbage"

    async def start(self) -> None:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*SELDOM)

    async def stop(self) -> None:
        gc.set_threshold(*USUAL)
        gc.unfreeze()
