"""APScheduler with its SQLAlchemy store: ``python apscheduler_side.py URL JOBS DUE``, in its own environment.

Prints one JSON object: how many runs it started per second. The rows are written in one go, as adding them
one by one would take longer than everything else; they are what the store itself would write.
"""

import json
import pickle
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import create_engine

PATIENCE_S = 120.0

started = 0
done = threading.Event()
wanted = 0


def run() -> None:
    global started  # noqa: PLW0603 - the store keeps the name of a function, not an object
    started += 1
    if started >= wanted:
        done.set()


def main() -> None:
    global wanted
    url, jobs, wanted = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    engine = create_engine(url)
    store = SQLAlchemyJobStore(engine=engine)
    scheduler = BackgroundScheduler(
        jobstores={"default": store},
        executors={"default": ThreadPoolExecutor(10)},
        job_defaults={"misfire_grace_time": None, "coalesce": True},
        timezone=UTC,
    )
    scheduler.start(paused=True)
    first = scheduler.add_job("apscheduler_side:run", "interval", hours=1, id="template")
    state = dict(first.__getstate__())
    scheduler.remove_job("template")
    now = datetime.now(UTC)
    with engine.begin() as connection:
        for low in range(0, jobs, 5000):
            numbers = range(low, min(jobs, low + 5000))
            connection.execute(store.jobs_t.insert(), [row(store, state, number, now) for number in numbers])
    began = time.monotonic()
    scheduler.resume()
    if not done.wait(PATIENCE_S):
        raise SystemExit(f"{started} of {wanted} were started after {PATIENCE_S:.0f} s")
    seconds = time.monotonic() - began
    scheduler.shutdown(wait=False)
    sys.stdout.write(json.dumps({"runs_per_s": wanted / seconds}) + "\n")


def row(store: Any, state: dict[str, Any], number: int, now: datetime) -> dict[str, Any]:
    due = now - timedelta(seconds=1) if number < wanted else now + timedelta(minutes=50)
    mine = {**state, "id": f"job-{number}", "next_run_time": due}
    return {
        "id": mine["id"],
        "next_run_time": due.timestamp(),
        "job_state": pickle.dumps(mine, store.pickle_protocol),
    }


if __name__ == "__main__":
    sys.modules["apscheduler_side"] = sys.modules["__main__"]
    main()
