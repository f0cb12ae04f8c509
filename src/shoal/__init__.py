"""Shoal: one dependable workforce out of machines you own, rent, or borrow from strangers."""

from shoal.app.context import Context
from shoal.app.declare import App
from shoal.app.engine_trial import try_engine
from shoal.app.failures import PermanentFailure, RetryAfter, Snooze
from shoal.app.graph import Graph
from shoal.app.iterations import Iterations
from shoal.app.reducers import Bounds
from shoal.app.trial import Trial, try_job
from shoal.wire.events import EventView as Event

__all__ = [
    "App",
    "Bounds",
    "Context",
    "Event",
    "Graph",
    "Iterations",
    "PermanentFailure",
    "RetryAfter",
    "Snooze",
    "Trial",
    "try_engine",
    "try_job",
]
