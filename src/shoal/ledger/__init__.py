"""The ledger: PostgreSQL, and what must never be lost.

Owns the connection pool, transactions, the loader of named statements, the numbered migrations and
the hub for LISTEN. It knows no table: each room keeps its own statements in ``sql/`` beside its
store, and the migrations here are the sum of what the rooms need.

* **One lock order everywhere: tasks by id, then jobs by id.** Whoever locks several rows sorts first.
* **The database's clock decides** (``clock_timestamp()``); a statement never takes the caller's time
  to judge a lease.
* **A notification only wakes.** What it would have said is found by a query as well; after a
  reconnect the hub wakes everybody, so a lost NOTIFY loses no work.
* **A user acts as a user.** ``acting_as`` runs a transaction as the role ``authenticated`` with the
  user's claims, so that row-level security is the enforcement and not a decoration.

On failure: a statement on a dead connection raises; nothing is retried behind the caller's back. The
pool replaces dead connections, the hub reconnects with back-off for ever.
"""
