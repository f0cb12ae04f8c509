"""Benchmarks: one folder each, run by ``bench/run NAME [--quick]``.

A folder holds ``bench.py`` with ``measure(quick)``, and, where it compares, ``requirements.txt`` with the
peers (installed into an environment of their own) and the peers' settings as files. ``harness`` is what
they share.
"""
