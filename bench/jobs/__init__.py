"""How fast Shoal's queue is beside the queues that people use on PostgreSQL today.

Every side works on a database of its own on one embedded PostgreSQL, with no-op tasks, in the best
settings its documentation has (``sides.toml``), and is driven alike: ``sides`` holds one program for each,
which installs its schema, enqueues, works and stops when it is told (``sides.protocol``).

* **drain**: tasks are enqueued, then one or two worker processes run them all. The clock runs from the
  first task that starts to the moment at which the database has none left, so that no start-up counts.
* **enqueue**: the bulk call of each side, from one process.
* **pickup**: one task at a time into an idle worker, from the call that enqueues it to its first line.
* **one big job** of Shoal against many small ones, and **a full table** against an empty one.

The sides take turns within each repetition, together with a reference in bare SQL. A peer that is far
below the figure it is known for, scaled by that reference, is void: then the machine or the bench was
wrong, and not the peer.
"""
