"""The room of events: what became true is kept, and told to whoever asked for it.

An **event** is a frozen fact with a type in the past participle (``job.completed``), appended by
``shoal.append_events`` in the transaction that made it true. A **sink** is somebody who asked for some types:
Kafka, a webhook, the beacon, a consumer in this database. A **turn** is a lease on one partition of one sink;
a **cursor** is how far a sink has been told of a partition.

What this room owns
    ``event_store_t``, ``outbox_message_t``, ``outbox_partition_t``, ``event_sink_t``, ``consumer_offset_t``,
    ``event_dead_letter_t``. Other rooms append in their own SQL and own nothing here.

What always holds
    * An event is there exactly if the change it tells of is. What rolls back was never told.
    * The events of one aggregate are told to each sink in the order in which they were appended. Rows get
      their positions once they are committed, from who holds their partition; a cursor counts positions, so
      what commits late is not passed by.
    * A cursor only moves for the token that holds it, and never back. Hence at least once, and if an event is
      told twice, the ones behind it are told again as well, with the same ids.
    * Sinks know nothing of each other: each has its own cursors, its own pauses, its own dead letters.
    * Types of users begin with ``user.``; nothing else can be appended by them, so nobody forges the rest.
    * Whoever may not read an event is not told of it: a user's webhook is told of the user's events alone.

What happens on failure
    * Whoever tells dies or is paused: its turns end by the database's clock, and others take the partitions.
      If it wakes up it may tell the rest of its turn again, and moves no cursor.
    * A sink is away: its partitions wait, longer each time, and nothing is held against the events.
    * One event cannot be told: it goes to the dead letters with the reason, and those behind it go on. A sink
      that takes nothing at all is what is broken, not the events; that is waited for, for a day.
    * The database is away: nothing is told and nothing is lost; no event gets an attempt for it.
    * NOTIFY is lost: everybody also looks by themselves, every second or so.
"""
