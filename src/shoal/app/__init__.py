"""What a user declares: tasks, jobs that are graphs of tasks, and engines.

* A **task** is a function of ``(context)`` or ``(context, input)``. Its return value is its output.
* A **job** is a function of its validated parameters that returns a ``Graph``.
* An **engine** is a function of a config and a range of iterations that returns a value for each of them;
  nodes have it installed, and a reducer makes one answer of the values, however the range was cut.
* An **App** holds them; a worker or a node is started with one and runs what it declares.

Nothing here does I/O, except starting jobs on a connection that is handed in. A declaration that is wrong
is refused where it stands, a graph that is wrong when it is built, always as
``Invalid("invalid_graph" | "invalid_declaration", …)``.
"""
