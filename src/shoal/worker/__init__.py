"""The worker agent: a trusted process that claims ``worker`` tasks, runs them and reports.

It may run far from everything else: it needs the ledger and the vault, and no room.

* **Claimed ahead, in batches.** One claim asks for as many tasks as there is room for. A claim whose
  reply was lost is repeated under the same token and returns the same rows.
* **Fenced by attempt.** Every call names the claim token. A worker that was thought dead is told
  ``lease_lost``: it stops the task and its artifacts stay hidden.
* **Heartbeats come from a thread of their own**, one call for all held tasks, so a task that keeps the
  event loop busy does not lose its lease.
* **A result counts when it is durable.** Artifacts go to the vault first, under a key that names the
  attempt; then one call records the output and shows the artifacts. When the ledger is away the call is
  repeated until it answers or the lease is lost.
* **Tasks that ask for a process get one.** It is spawned, used again, and killed with all that its task has
  started when the task has to end, or when the worker does, also by ``kill -9``.
* **Told to stop,** the worker claims no more, gives running tasks the grace period, and hands back the
  rest without burning an attempt.

On failure of the worker itself, its leases run out and ``reclaim_stale_tasks`` gives the tasks to others:
a sentinel calls it, or, where none runs, the other workers in turn.
"""
