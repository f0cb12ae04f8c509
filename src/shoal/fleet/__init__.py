"""The room of the fleet: chunks of work, pushed to thousands of nodes that nobody trusts.

A **plan** is one fleet task in the brain. It is a cursor, a set of indexes to try again and a bitmap of
what is done, so its size does not grow with the job. A **chunk** is an index of a plan; it is handed out as
an **attempt**, ``<task>.<index>.<attempt>`` on the wire, to a **node** that holds it until it completes it
or loses it.

Everything here can be lost and is rebuilt from the ledger: that costs work, never a result.
"""
