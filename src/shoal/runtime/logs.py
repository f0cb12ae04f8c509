"""Structured logs: readable on a terminal, one JSON object a line otherwise.

Ids are bound where they become known (``bound(request_id=…)``; a worker sets ``subject`` to the task it
runs) and then stand on every line that is written below, also by the libraries we use.
"""

import logging
import sys
from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar
from typing import Annotated, Any, Literal, Protocol

import msgspec
import structlog

bound = structlog.contextvars.bound_contextvars


class Subject(Protocol):
    """What a stretch of work is about."""

    def log_ids(self) -> Mapping[str, object]: ...


subject: ContextVar[Subject | None] = ContextVar("subject", default=None)
"""Set once for each of thousands of tasks a second, so it costs one variable, and its ids nothing
until a line is written."""


def add_subject(_logger: object, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    about = subject.get()
    if about is not None:
        for name, value in about.log_ids().items():
            line.setdefault(name, value)
    return line


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        msgspec.Meta(description="The least serious line that is written."),
    ] = "info"
    log_format: Annotated[
        Literal["auto", "pretty", "json"],
        msgspec.Meta(description="auto is pretty on a terminal and JSON otherwise."),
    ] = "auto"


def configure_logs(settings: LogSettings) -> None:
    """Send everything, our own lines and those of libraries, to stderr in one form."""
    pretty = settings.log_format == "pretty" or (settings.log_format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        add_subject,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.ExtraAdder(),
    ]
    ending: list[Any] = (
        [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
        if pretty
        else [
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(serializer=_encode),
        ]
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *ending],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for chatty in ("httpx", "httpcore", "asyncio"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))


def _encode(line: object, **_: object) -> str:
    return msgspec.json.encode(line, enc_hook=str).decode()
