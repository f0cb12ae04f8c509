"""``bench/run schedules``: occurrences fired per second, beside APScheduler and a bare INSERT … SELECT.

* **Shoal** fires 100,000 schedules that are all due: each run is a row, an event and a new next time, durable
  before it counts. Once with intervals, once with cron in many time zones.
* **APScheduler** 3 with its SQLAlchemy store has as many jobs in the same PostgreSQL, of which a part is due;
  a job counts a number up, so what it starts costs it nothing. A run is one UPDATE of the store.
* **INSERT … SELECT** writes the same runs and the same events in one statement each, and plans nothing.
* **Lateness**: 10,000 schedules of every ten seconds, spread evenly, so 1,000 runs are due each second.
"""
