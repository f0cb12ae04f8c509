"""The gRPC edge: one servicer per service in ``proto``, and the server that carries them.

A servicer turns messages into calls of a room or an agent and back, says who may call, and turns errors into
statuses. What it decides itself is nothing else. Default deny: a call of the Scheduler shows the token of the
mesh, a call of ShardTransfer a ticket.
"""
