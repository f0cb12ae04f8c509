"""One file per process: the only place where parts are built and joined.

A role reads its settings, builds its parts in the order in which they start, and runs them. Nothing
below a role reads settings or builds what it depends on.
"""
