"""What holds for every job at any moment at which no transaction is under way. Answers are complaints."""

from collections.abc import Mapping

from shoal.ledger.connection import Connection

# Each statement returns what is wrong, one line each.
ALWAYS: Mapping[str, str] = {
    "a job's counters differ from a recount": """
        SELECT format('%s (%s): %s total, %s open, %s failed, %s cancelled; counted %s, %s, %s, %s', j.id,
                 j.status, j.tasks_total, j.tasks_open, j.tasks_failed, j.tasks_cancelled, t.total, t.open,
                 t.failed, t.cancelled)
          FROM jobs j CROSS JOIN LATERAL (
            SELECT count(*) AS total,
                   count(*) FILTER (WHERE status IN ('pending', 'claimed')) AS open,
                   count(*) FILTER (WHERE status = 'failed') AS failed,
                   count(*) FILTER (WHERE status = 'cancelled') AS cancelled
              FROM job_tasks WHERE job_id = j.id) t
         WHERE (j.tasks_total, j.tasks_open, j.tasks_failed, j.tasks_cancelled)
               <> (t.total, t.open, t.failed, t.cancelled)""",
    "a phase's counters differ from a recount": """
        SELECT format('%s phase %s: %s of %s; counted %s of %s', j.id, p.number, j.phase_done[p.number],
                 j.phase_total[p.number], t.done, t.total)
          FROM jobs j CROSS JOIN generate_subscripts(j.phase_names, 1) AS p(number)
         CROSS JOIN LATERAL (
            SELECT count(*) AS total, count(*) FILTER (WHERE status = 'complete') AS done
              FROM job_tasks WHERE job_id = j.id AND phase = p.number) t
         WHERE (j.phase_done[p.number], j.phase_total[p.number]) <> (t.done, t.total)""",
    "a job's status does not follow from its tasks": """
        SELECT format('%s is %s with %s open tasks', id, status, tasks_open) FROM jobs
         WHERE (status IN ('complete', 'failed', 'cancelled')) <> (tasks_open = 0)
            OR (status = 'complete' AND tasks_failed > 0)
            OR (status = 'failed' AND tasks_failed = 0)
            OR (finished_at IS NOT NULL) <> (status IN ('complete', 'failed', 'cancelled'))
            OR (progress ->> 'percent' = '100') <> (status = 'complete')""",
    "an open task waits for the wrong number of others": """
        SELECT format('%s %s of %s: waits for %s, %s are open', t.status, t.name, t.job_id, t.waiting_on,
                 n.open)
          FROM job_tasks t CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE n.status IN ('pending', 'claimed')) AS open
              FROM task_edges e JOIN job_tasks n ON n.id = e.needs WHERE e.task_id = t.id) n
         WHERE t.status IN ('pending', 'claimed') AND t.waiting_on <> n.open""",
    "an open task needs one that failed": """
        SELECT format('%s of %s needs %s, which is %s', t.name, t.job_id, n.name, n.status)
          FROM task_edges e JOIN job_tasks t ON t.id = e.task_id JOIN job_tasks n ON n.id = e.needs
         WHERE t.status IN ('pending', 'claimed') AND n.status IN ('failed', 'cancelled')
           AND e.on_failure <> 'ignore'""",
    "a task has more attempts than it may": """
        SELECT format('%s of %s: %s of %s', name, job_id, attempts, max_attempts) FROM job_tasks
         WHERE attempts > max_attempts OR attempts < 0""",
    "a lease belongs to no claimed task": """
        SELECT l.task_id::text FROM task_leases l JOIN job_tasks t ON t.id = l.task_id
         WHERE t.status <> 'claimed' OR t.claim_token <> l.claim_token""",
}

AT_THE_END: Mapping[str, str] = {
    "a job has not ended": "SELECT id || ' ' || status FROM jobs WHERE finished_at IS NULL",
    "a task has not ended": """
        SELECT name || ' ' || status FROM job_tasks WHERE status IN ('pending', 'claimed')""",
    "a lease is left": "SELECT task_id::text FROM task_leases",
}

SHOWN = 3


async def broken(connection: Connection, *laws: Mapping[str, str]) -> list[str]:
    """One line for each law that does not hold, with examples."""
    complaints = []
    for law in laws or (ALWAYS,):
        for what, question in law.items():
            if found := [row[0] for row in await connection.fetch(question)]:
                complaints.append(f"{what}: {len(found)}, such as {'; '.join(found[:SHOWN])}")
    return complaints
