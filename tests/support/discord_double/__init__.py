"""A double of Discord on loopback: its gateway and the part of its REST API that a bot needs.

It speaks the protocol as it is documented, and is strict: what Discord refuses with a close code or an error
is refused here. What it does not know it answers with 404 and keeps, so that a test can say that nothing
else was asked. ``double.Discord`` is what a test holds.
"""
