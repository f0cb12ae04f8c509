"""What every process stands on: errors, settings, life cycle, clock, logs, metrics, traces, health.

Nothing here knows a room, a store or a protocol. A part of the program gets what it needs handed
in by its role; it never reads the environment, the clock or a global registry by itself.
"""
