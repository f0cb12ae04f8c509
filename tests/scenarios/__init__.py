"""Fault scenarios: real processes work, something is killed, paused or cut off, and nothing may be lost.

* A **room** (``rooms/foundation.py``, ``rooms/jobs.py``) says what works, which faults may strike and
  what must hold afterwards. It reads as sentences over a ``Cluster``.
* **The seed decides everything we decide**: which faults, on whom, at which progress. Where inside a
  millisecond a fault lands is up to the machine.
* **A fault must hit work in progress.** Each strike counts the tasks it caught; a run in which no
  fault caught any proves nothing and fails.
* **The judge is not the system.** Triggers of the scenario's own (``apps/witness.sql``) write down every
  completion in the transaction that made it, and tasks write down every execution in a file that
  survives ``kill -9``. Counters, leases and outputs are compared with those.

What "once" means: a task may be *executed* more than once (a worker that was killed cannot say how far
it was), but its completion is *recorded* once: one transition to ``complete``, with the output of one
execution, counted once by its job, seen once by what depends on it.
"""
