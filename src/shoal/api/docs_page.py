"""The readable page of the API: the OpenAPI description as plain HTML, with nothing loaded from
elsewhere and no script. It follows the reader's light or dark setting.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Any

STYLE = files("shoal.api").joinpath("docs_page.css").read_text(encoding="utf-8")
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; frame-ancestors 'none'; base-uri 'none'"
)

Schema = Mapping[str, Any]


def render_docs(description: Schema) -> bytes:
    info = description["info"]
    operations = sorted(_operations(description), key=lambda one: _tag(one[2]))
    sections = "".join(
        f"<h2>{escape(tag)}</h2>{''.join(_operation(*one) for one in group)}"
        for tag, group in groupby(operations, key=lambda one: _tag(one[2]))
    )
    schemas = description.get("components", {}).get("schemas", {})
    types = "".join(_type(name, schemas[name]) for name in sorted(schemas))
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{escape(info['title'])} API <small>{escape(info['version'])}</small></h1>"
        f"<p>{escape(info.get('description', ''))} For programs: "
        "<a href=/api/openapi.json>openapi.json</a>.</p>"
        "<p>Where a lock is shown, send <code>Authorization: Bearer …</code> with a user's token or "
        "a key. Every error is a <a href=#type-Problem>Problem</a> with a stable <code>code</code>."
        f"</p>{sections}<h2>Types</h2>{types}</main></body></html>"
    ).encode()


def _operations(description: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if isinstance(operation, dict) and "responses" in operation:
                yield method.upper(), path, operation


def _tag(operation: Schema) -> str:
    return str((operation.get("tags") or ["Other"])[0])


def _operation(method: str, path: str, operation: Schema) -> str:
    lock = ' <span title="needs a token or a key">🔒</span>' if operation.get("security") else ""
    body = operation.get("requestBody")
    return (
        f"<section><h3><code><b>{method}</b> {escape(path)}</code>{lock}</h3>"
        f"<p>{escape(operation.get('summary', ''))}</p>"
        f"{_paragraph(operation.get('description', ''))}"
        f"{_parameters(operation.get('parameters') or [])}"
        f"{f'<p>Body: {_content(body)}</p>' if body else ''}"
        f"{_responses(operation['responses'])}</section>"
    )


def _paragraph(text: str) -> str:
    return f"<p class=more>{escape(text)}</p>" if text else ""


def _parameters(parameters: list[Schema]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code><td>{escape(one['in'])}"
        f"{', required' if one.get('required') else ''}"
        f"<td>{_shape(one.get('schema', {}))}<td>{escape(one.get('description', ''))}"
        for one in parameters
    )
    return f"<table><tr><th>Parameter<th>In<th>Type<th>{rows}</table>" if rows else ""


def _responses(responses: Schema) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(status)}</code><td>{_content(one)}<td>{escape(one.get('description', ''))}"
        for status, one in sorted(responses.items())
    )
    return f"<table><tr><th>Answer<th>Type<th>{rows}</table>"


def _content(holder: Schema) -> str:
    return ", ".join(_shape(one.get("schema", {})) for one in (holder.get("content") or {}).values())


def _type(name: str, schema: Schema) -> str:
    required = schema.get("required", ())
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code><td>{_shape(one)}"
        f"<td>{'' if field in required else 'optional. '}{escape(one.get('description', ''))}"
        for field, one in schema.get("properties", {}).items()
    )
    title = escape(name)
    table = f"<table><tr><th>Field<th>Type<th>{rows}</table>" if rows else _shape(schema)
    return f'<section id="type-{title}"><h3>{title}</h3>{table}</section>'


def _shape(schema: Schema) -> str:
    """A schema in a few words; a named one is a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        return f'<a href="#type-{name}">{name}</a>'
    if choices := schema.get("oneOf") or schema.get("anyOf"):
        return " or ".join(_shape(one) for one in choices)
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(one))}</code>" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_shape(schema.get('items', {}))}"
    kinds = schema.get("type", "anything")
    kind = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return escape(f"{kind} ({schema['format']})" if "format" in schema else kind)
