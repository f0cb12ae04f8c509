"""The front door for people: one file per noun.

A command reads its settings, calls a role or the API, and prints. What it needs is imported inside it,
so that ``shoal job list`` does not pay for a server. Every command that prints data knows ``--json``.

Exit codes: 0 done · 1 it ran, and the answer is bad news (a job that failed) · 2 wrong input or
settings · 3 no such thing · 4 not allowed · 5 the state of things does not allow it · 6 too large ·
7 something does not answer · 70 a defect in Shoal · 130 interrupted.
"""
