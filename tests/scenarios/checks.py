"""What must hold when every job has ended, whatever struck in between. Answers are lists of complaints."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.scenarios.ledger_view import LedgerView

# Each statement returns what is wrong, one line each; it must return nothing.
NOTHING_OF_THIS: Mapping[str, str] = {
    "a job did not complete": """
        SELECT id || ' is ' || status || ': ' || coalesce(error, '') FROM jobs WHERE status <> 'complete'""",
    "a task did not complete": """
        SELECT name || ' of ' || job_id || ' is ' || status FROM job_tasks WHERE status <> 'complete'""",
    "a completion was recorded more than once": """
        SELECT task_id || ' ' || count(*) || ' times' FROM witness.completions
         GROUP BY task_id HAVING count(*) > 1""",
    "a completed task has no recorded completion": """
        SELECT name || ' ' || id FROM job_tasks t
         WHERE NOT EXISTS (SELECT FROM witness.completions c WHERE c.task_id = t.id)""",
    "a task changed after it had ended": """
        SELECT task_id || ' ' || was || ' → ' || became FROM witness.afterlives""",
    "an output changed after its completion": """
        SELECT t.id::text FROM job_tasks t JOIN witness.completions c ON c.task_id = t.id
         WHERE t.output IS DISTINCT FROM c.output OR t.attempts <> c.attempt""",
    "a task completed before what it needs": """
        SELECT t.name || ' of ' || t.job_id FROM task_edges e
          JOIN job_tasks t ON t.id = e.task_id JOIN job_tasks n ON n.id = e.needs
         WHERE t.claimed_at < n.finished_at""",
    "a lease is left": "SELECT task_id::text FROM task_leases",
    "a job's counters differ from a recount": """
        SELECT j.id || format(' has %s tasks, %s open, %s failed, %s cancelled; counted %s, %s, %s, %s',
                 j.tasks_total, j.tasks_open, j.tasks_failed, j.tasks_cancelled,
                 t.total, t.open, t.failed, t.cancelled)
          FROM jobs j CROSS JOIN LATERAL (
            SELECT count(*) AS total,
                   count(*) FILTER (WHERE status IN ('pending', 'claimed')) AS open,
                   count(*) FILTER (WHERE status = 'failed') AS failed,
                   count(*) FILTER (WHERE status = 'cancelled') AS cancelled
              FROM job_tasks WHERE job_id = j.id) t
         WHERE (j.tasks_total, j.tasks_open, j.tasks_failed, j.tasks_cancelled)
               <> (t.total, t.open, t.failed, t.cancelled)""",
    "a phase's counters differ from a recount": """
        SELECT j.id || ' phase ' || p.number || format(' has %s of %s; counted %s of %s',
                 j.phase_done[p.number], j.phase_total[p.number], t.done, t.total)
          FROM jobs j CROSS JOIN generate_subscripts(j.phase_names, 1) AS p(number)
         CROSS JOIN LATERAL (
            SELECT count(*) AS total,
                   count(*) FILTER (WHERE status NOT IN ('pending', 'claimed')) AS done
              FROM job_tasks WHERE job_id = j.id AND phase = p.number) t
         WHERE (j.phase_done[p.number], j.phase_total[p.number]) <> (t.done, t.total)""",
    "a job's progress is not 100": """
        SELECT id || ' ' || progress::text FROM jobs WHERE progress ->> 'percent' <> '100'""",
    "an artifact of an attempt that did not count is shown": """
        SELECT a.storage_path FROM job_artifacts a JOIN job_tasks t ON t.id = a.task_id
          JOIN job_artifacts b ON b.task_id = a.task_id AND b.name = a.name AND b.id <> a.id
         WHERE a.claim_token = t.claim_token AND b.claim_token = t.claim_token""",
}
SHOWN = 3

TROUBLE = re.compile(r"(?:ERROR|PANIC):  (?P<what>.*)")
EXPECTED = re.compile(
    "the first attempt of this leaf fails"
    # asyncpg's pool, while the server is away; it tries again by itself.
    "|Failed to restore the pool connection floor"
)
STRUCK = ("terminating connection", "the database system is", "canceling statement due to user request")


async def wrong_in_ledger(ledger: LedgerView, *, jobs: int, tasks: int) -> list[str]:
    complaints = []
    for what, question in NOTHING_OF_THIS.items():
        found = [row[0] for row in await ledger.rows(question)]
        if found:
            complaints.append(f"{what}: {len(found)}, such as {'; '.join(found[:SHOWN])}")
    for table, expected in (("jobs", jobs), ("job_tasks", tasks)):
        # The name is one of the two above.
        if (counted := await ledger.number(f"SELECT count(*) FROM {table}")) != expected:  # noqa: S608
            complaints.append(f"{table} holds {counted} rows, {expected} were expected")
    return complaints


async def wrong_in_outputs(ledger: LedgerView, executions: Mapping[str, UUID]) -> list[str]:
    """The output of every task is that of one execution of this very task."""
    recorded = await ledger.rows(
        "SELECT id, output ->> 'mark' AS mark FROM job_tasks WHERE task_type NOT LIKE 'plan:%'"
    )
    foreign = [str(row["id"]) for row in recorded if executions.get(row["mark"]) != row["id"]]
    twice = len(recorded) - len({row["mark"] for row in recorded})
    complaints = []
    if foreign:
        complaints.append(f"an output belongs to no execution of its task: {len(foreign)}, {foreign[:SHOWN]}")
    if twice:
        complaints.append(f"{twice} outputs are those of another task's execution")
    return complaints


async def wrong_in_answers(ledger: LedgerView, right: Mapping[UUID, Any]) -> list[str]:
    """The value each job ended with."""
    found = {
        row["id"]: row["value"]
        for row in await ledger.rows("SELECT id, (result ->> 'value')::bigint AS value FROM jobs")
    }
    wrong = [
        f"{job} got {found.get(job)}, not {value}" for job, value in right.items() if found.get(job) != value
    ]
    return [f"a job has a wrong result: {len(wrong)}, such as {'; '.join(wrong[:SHOWN])}"] if wrong else []


def trouble_in_postgres_log(log: Path) -> list[str]:
    """Errors of statements that no fault explains: a deadlock, say, or a constraint."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    counted: dict[str, int] = {}
    for line in lines:
        if (match := TROUBLE.search(line)) and not any(one in line for one in STRUCK):
            counted[match["what"]] = counted.get(match["what"], 0) + 1
    return [f"PostgreSQL says {count} times: {what}" for what, count in counted.items()]


def trouble_in_logs(logs: Iterable[Path]) -> list[str]:
    """Tracebacks are defects, whatever struck, except those that are part of the scenario."""
    complaints = []
    for log in logs:
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        strange = [line for line in text.splitlines() if "Traceback" in line and not EXPECTED.search(line)]
        complaints += [f"{log.name}: {_last_words(line)}" for line in strange[:SHOWN]]
    return complaints


def _last_words(line: str) -> str:
    """Of a line of JSON with an exception: what was said, and where the traceback ended."""
    try:
        said = json.loads(line)
    except ValueError:
        return line
    return f"{said.get('message')}: {said.get('exception', '').rstrip().splitlines()[-1:]}"
