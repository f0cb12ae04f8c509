"""The room of schedules: when something is to happen again, and making it happen exactly once.

A **schedule** is a row of ``schedule_t``: a recurrence, what to do, and the next time it is due. Its
**occurrences** are a set of moments that follows from the row alone; a **run** is one occurrence that was
fired, and is one row of ``schedule_fires`` and one event.

* Any number of schedulers run; one leads, by ``scheduler_lock_t`` and the clock of the database. Leading
  only saves work: what makes a run happen once is that firing is one statement, which locks the schedule,
  finds it as it was read, and writes the run, its event and the next time together.
* No clock of a process decides anything: ``now`` comes from the database with what is due, and a leader
  stops believing by a clock that only measures.
* The n-th occurrence is counted from the start, never from the run before, so nothing drifts.
* A schedule emits events under ``user.``, or starts a job: its event ``job.start`` is read by a consumer, and
  the job belongs to the owner of the schedule, whatever its data say.
* A schedule that cannot fire is parked with the reason, and in nobody's way.

On failure: a leader that dies or is paused is followed by another within the time-out, at once when it
ends in order; whatever it was about to fire is still due, and what it fired is not.
"""
