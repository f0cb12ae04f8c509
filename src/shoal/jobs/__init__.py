"""The room of jobs: starting them, reading them, and what keeps them moving.

A **job** is a small graph of **tasks**. It lives in the ledger as one row of ``jobs``, one of
``job_tasks`` per task and one of ``task_edges`` per "needs".

* A job is ``queued → processing → complete | failed | cancelled``; a task is
  ``pending → claimed → complete | failed | cancelled``, and back to ``pending`` when it is tried again.
* A job that was started by name begins with one ``plan`` task; the worker that runs it replaces it by
  the graph, in one step.
* The counters of a job follow its tasks in the same transaction (triggers on whole statements), so a
  job ends in the transaction that ends its last task, whoever ends it.
* An artifact is seen once the attempt that made it has completed its task.
* A job is deleted whole, once it has ended: by age, or when somebody asks. Its rows go first and its files
  after them; what else lies in the vault is removed only if the ledger says that it was made by an attempt
  that does not count.
* Users act as themselves: every read here runs under their claims and the policies of the ledger.

On failure: a worker that falls silent loses its leases to ``reclaim_stale_tasks``, which any number of
processes call; nothing here keeps state between calls.
"""
