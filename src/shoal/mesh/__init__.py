"""The room of the mesh: one data set onto many servers, which copy it from each other.

A **data set** is a sequence of **shards** with a hash each. Every **server** shall have all of them. The
**origin** has them from the start and gives each out once; from then on servers copy from servers. A
**transfer** is one attempt to bring one shard to one server, from a peer or from the origin.

Its parts
    ``swarm`` is the world as bitmaps: who has what, and who is busy. ``planner`` decides, as a pure
    function of the swarm, which transfers start now. ``simulator`` runs the same planner on a clock of its
    own and holds it against ``bounds``: what no schedule can beat.

What always holds
    * No server downloads or uploads more at a time than its limits, and the origin no more than its slots.
    * A shard is taken from a server that has it, by one that neither has it nor is just getting it.
    * A shard leaves the origin while no server that can be used has it and nobody is fetching it: so once.
    * The planner leaves nothing undone that could start: every plan is maximal.

What happens on failure
    A server that goes takes its copies and its transfers with it; what then nobody has comes from the
    origin again. A transfer that fails frees both ends. Nothing here is stored: it is known anew from what
    the servers say they have.
"""
