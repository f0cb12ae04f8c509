"""OpenTelemetry traces, sent only when an endpoint is set; without one the API's no-ops run."""

import importlib
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import msgspec
from opentelemetry import trace

from shoal.runtime.errors import Invalid

SEND_TIMEOUT_S = 2

_on = False


def span(name: str, **attributes: str | int) -> AbstractContextManager[object]:
    """A span around a piece of work; next to nothing while no traces are sent."""
    if not _on:
        return nullcontext()
    return trace.get_tracer("shoal").start_as_current_span(name, attributes=attributes)


class TraceSettings(msgspec.Struct, frozen=True, kw_only=True):
    otlp_endpoint: Annotated[
        str,
        msgspec.Meta(description="Where traces go over OTLP/HTTP; empty sends none."),
    ] = ""


def configure_traces(settings: TraceSettings, *, role: str) -> None:
    global _on  # noqa: PLW0603 - as global as the provider that is set below
    if not settings.otlp_endpoint:
        return
    try:
        export = importlib.import_module("opentelemetry.sdk.trace.export")
        otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        resources = importlib.import_module("opentelemetry.sdk.resources")
    except ImportError as error:
        raise Invalid(
            "tracing_not_installed",
            "The setting otlp_endpoint is set, but the OpenTelemetry SDK is not installed.",
            hint="Install it with: pip install 'shoal[tracing]'.",
        ) from error
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": f"shoal-{role}"}))
    exporter = otlp.OTLPSpanExporter(
        endpoint=settings.otlp_endpoint.rstrip("/") + "/v1/traces",
        timeout=SEND_TIMEOUT_S,  # also how long an endpoint that is away may hold up the end
    )
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    _on = True
