"""The room of the fleet: chunks of work, pushed to thousands of nodes that nobody trusts.

A **plan** is one fleet task in the brain. It is a cursor, a set of indexes to try again and a bitmap of
what is done, so its size does not grow with the job. A **chunk** is an index of a plan; it is handed out as
an **attempt**, ``<task>.<index>.<attempt>`` on the wire, to a **node** that holds it until it completes it
or loses it. Everything here can be lost and is rebuilt from the ledger: that costs work, never a result.

What the brain keeps
    The parts in ``lua/parts`` name every key and what is in it. Seen from outside:

    * ``{job}:<task>`` and what stands behind it belong to one plan and go with it;
    * ``{node}:<id>:state`` and ``{node}:<id>:chunks`` belong to one live node and go with it;
    * a **pool** is ``<grant>|<engine>``: nodes with room stand in the pools they accept, and lanes with
      work in the pools of their owner's grants. A **lane** is ``<owner>|<engine>|<audience>``: plans that
      the same nodes may run, the oldest first. So a chunk is found without looking at other jobs or
      nodes, and handing it out writes nothing per guild.

What always holds
    * A chunk is in exactly one place: beyond the cursor, to be tried again, held, or done.
    * What a node holds and who holds a chunk are two sides of one fact, changed together. A backlog is
      the length of the one; nothing counts it a second time.
    * Only who holds a live attempt may complete it; the first accepted result frees every other holder.
      A refusal leaves no trace, a repeat says ``ALREADY_COMPLETED``.
    * A plan is full when its bitmap is. Its sums and its bits change in the same step.
    * Rights are read from the brain, where ``admit_node``, ``open_plan`` and ``change_grants`` put them
      from the ledger; whoever asks for a chunk or hands one in cannot widen them.
    * Nothing expires by itself: no key has a time to live. A dropped plan and a forgotten node leave
      nothing, except that a revoked node's id stays, so that it is never admitted again.

Who comes first
    The owner with the fewest chunks held now, whatever they had before: nobody gains by having waited or
    loses by having been served. Of one owner the older plan. Among nodes the one that holds least. Up to
    32 lanes or nodes of a pool are compared exactly, of more as many drawn at random each time.

Who is believed
    Of a plan with a ``sample``, that share of its chunks is done only when nodes of two owners handed in the
    same, as near as its ``tolerance`` says; a third decides between two. Which chunks these are follows from
    the claim token, so no node can tell. The results of such a plan are kept apart by node: one that was
    outvoted loses all it did for the plan, what it holds of it, and the right to more of it.

What happens on failure
    * A node falls silent: ``reclaim_chunks`` forgets it and its chunks are tried again. When it comes
      back it is admitted as a new incarnation, and its digest tells it to drop what it had.
    * A node lives and a chunk does not move: ``heartbeat`` takes the chunk back.
    * An answer is lost: what was handed out is in the node's digest, what was accepted is
      ``ALREADY_COMPLETED``. Every call may be repeated.
    * A chunk fails wherever it is tried: after ``most_failures`` its plan is poisoned and waits to be failed.
      Silence, a standstill and what a node reports are failures; what it hands back or may not keep is none.
      A node of somebody else rests after a failure, longer each time, so that it poisons no plan alone.
    * The brain, or every sentinel, is away for minutes: silence counts from when somebody listens again.
    * Who aggregates dies: the lock ends by itself, and the plan stays in ``{job}:settled`` until dropped.
    * The brain loses its end or everything: the claim token of the ledger opens the plan again, attempts
      that it does not know are refused, and their chunks are computed once more.
"""
