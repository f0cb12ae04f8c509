"""``python -m tests.scenarios.run --room jobs --runs 20 --seed 1``: run fault scenarios, say what happened.

Exits 1 when any run failed. The folder of a failed run is kept, with all its logs and databases.
"""

import argparse
import asyncio
import random
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.scenarios.rooms import fleet, foundation, jobs, mesh, schedules
from tests.scenarios.strikes import Verdict, say

ROOMS: dict[str, Callable[[Path, Verdict], Coroutine[Any, Any, None]]] = {
    "fleet": fleet.run,
    "foundation": foundation.run,
    "jobs": jobs.run,
    "mesh": mesh.run,
    "schedules": schedules.run,
}


def main() -> int:
    given = _arguments()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1_000_000)
    say(f"room {given.room}, {given.runs} runs, seed {seed}")
    verdicts = [one_run(given.room, f"{given.room}.{seed}.{number}") for number in range(1, given.runs + 1)]
    say("")
    for verdict in verdicts:
        hits = sum(count > 0 for count in verdict.caught.values())
        state = "passed" if verdict.passed else "FAILED"
        caught = f"{hits} of {len(verdict.caught)} faults hit work"
        say(f"{state}  {verdict.seed}  {caught}  {verdict.seconds:.0f} s")
    failed = sum(not verdict.passed for verdict in verdicts)
    say(f"room {given.room}, seed {seed}: {len(verdicts) - failed} of {len(verdicts)} runs passed")
    return 1 if failed else 0


def one_run(room: str, seed: str) -> Verdict:
    say(f"\nrun {seed}")
    folder = Path(tempfile.mkdtemp(prefix="shoal-scenario-"))
    began = time.monotonic()
    verdict = Verdict(seed)
    try:
        asyncio.run(ROOMS[room](folder, verdict))
    except Exception as error:  # noqa: BLE001 - a run that breaks is a run that failed
        traceback.print_exc()
        verdict.complaints.append(f"the run broke off: {type(error).__name__}: {error}")
    verdict.seconds = time.monotonic() - began
    for complaint in verdict.complaints:
        say(f"  WRONG: {complaint}")
    say(f"  {'passed' if verdict.passed else f'FAILED; everything is kept in {folder}'}")
    if verdict.passed:
        shutil.rmtree(folder)
    return verdict


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make scenarios", description="Break things while they work.")
    parser.add_argument("--room", choices=sorted(ROOMS), required=True)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, help="repeats the choices of an earlier run")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
