"""The agent of the mesh on one machine: it asks for work, copies shards, keeps them, and gives them on.

What it keeps
    A folder: ``shards`` whole and verified, under the name of their hash; ``arriving`` what has come of
    others, in whole pieces; ``sets`` the manifests that refer to shards; ``data`` data sets laid out as the
    files they were. Nothing outside that folder is written.

What always holds
    * A shard stands in ``shards`` only after its BLAKE3 hash was right and its bytes were on the disk.
    * A shard goes to whoever shows a ticket of the coordinator for it, and to nobody else. Before it is
      given on for the first time since the start, it is verified again: a disk may have changed meanwhile.
    * Shards belong to nobody: two data sets that share some have them once. What no manifest refers to goes
      when room is needed.
    * Names in a manifest cannot lead out of the folder of their data set.

On failure
    * Killed, it finds after its start what was whole, and goes on with what was arriving, piece by piece.
    * A transfer breaks, stalls or brings wrong bytes: it is reported, and the coordinator sends it elsewhere.
    * The coordinator is away: running transfers go on, and it asks again until there is one.
    * The disk is full or the quota is reached: the transfer is given up with ``NO_ROOM``, the shards stay.
"""
