"""What a user declares: tasks, and jobs that are graphs of tasks.

* A **task** is a function of ``(context)`` or ``(context, input)``. Its return value is its output.
* A **job** is a function of its validated parameters that returns a ``Graph``.
* An **App** holds both; a worker is started with one and runs what it declares.

Nothing here does I/O, except starting jobs on a connection that is handed in. A declaration that is wrong
is refused where it stands, a graph that is wrong when it is built, always as
``Invalid("invalid_graph" | "invalid_declaration", …)``.
"""
