"""A fleet of real processes: three sentinels, a brain of its own, a worker that plans, and fifty nodes.

Ten processes hold five nodes each: every node has a key, a connection, heartbeats and kept results of its
own, as the agent that ``shoal node run`` starts has them; only the engine runs in the same process instead of
in one for each chunk, because the machine that tests this has not fifty times two processes to give.

Each sentinel carries the embedded hub for the nodes that connect to it. What one sentinel pushes to a node at
another one is lost, always: so the scenario also shows that messages only wake.
"""
