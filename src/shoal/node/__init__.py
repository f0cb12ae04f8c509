"""The agent on a machine that is not ours: its identity, its connection, the chunks it computes.

* A node is its key: made on the first run, kept in a file that its user alone can read, sent nowhere.
* It signs every request it makes; what it is told over its connection is a hint to look.
* Chunks run in processes that give way to everything else on the machine, have a time limit and a limit of
  memory, and die with the node, also by ``kill -9``. A chunk that is lost or dropped is stopped.
* A result is on the disk before the server hears of it, and stays there until there is a verdict.
* It imports no room and no foundation, so that a volunteer installs nothing of a server.

``holdings`` decides what the node holds and owes; ``duties`` carries that out, between the ``pool`` that
computes and the ``connection`` that tells; ``agent`` sees to the connection, and to the end. At the end what
runs may come to its own, for a while; the rest is given back.

On failure: a server that is away is waited for, and what runs goes on. After every connect, and whenever a
heartbeat shows that the two differ, the node asks what it is supposed to hold, and drops the rest. A node
that dies takes its chunks with it, which others get, and keeps its results for when it comes back. Without
its key file a node is a new one, and has to be claimed again.
"""
