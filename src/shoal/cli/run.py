"""Running a role: its event loop, its logs, its traces."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from shoal.runtime.logs import LogSettings, configure_logs
from shoal.runtime.traces import TraceSettings, configure_traces

if TYPE_CHECKING:
    from shoal.runtime.settings import Settings


def run_role(role: Coroutine[Any, Any, None], *, settings: "Settings", name: str) -> None:
    """Run to the end on uvloop where it is installed."""
    configure_logs(settings[LogSettings])
    configure_traces(settings[TraceSettings], role=name)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(role)


def _loop_factory() -> Any:
    if sys.platform == "win32":
        return None
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
