"""The page of the HTTP API, from the document the API itself publishes at ``/api/openapi.json``."""

import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from _generate.markdown import code, page, table
from shoal.roles.config import SECTIONS
from shoal.roles.sentinel import sentinel_parts
from shoal.runtime.logs import LogSettings, configure_logs
from shoal.runtime.settings import read_settings

INTRODUCTION = """\
A running Shoal publishes this itself: `/api/openapi.json` for programs, `/api/docs` for people. Operations
that need it take `Authorization: Bearer …` with a user's token or a key
([keys and tokens](../how-to/keys-and-tokens.md)). Bodies are JSON with `Content-Type: application/json`.
Every error is a [Problem](#problem) with a stable [code](errors.md)."""

NEEDED = {
    frozenset(): "Open to everybody.",
    frozenset({"token", "key"}): "Needs a token or a key.",
    frozenset({"node"}): "Signed with the key of a node.",
    frozenset({"centrifugo"}): "Only Centrifugo may ask: it shows the secret it shares with the sentinels.",
}

Schema = Mapping[str, Any]


def http_api_page() -> str:
    description = asyncio.run(published())
    tags: dict[str, list[str]] = {}
    for method, path, operation in operations(description):
        tag = str((operation.get("tags") or ["Other"])[0])
        tags.setdefault(tag, []).append(operation_text(method, path, operation))
    parts = ["\n\n".join([f"## {tag}", *tags[tag]]) for tag in sorted(tags)]
    schemas = description["components"]["schemas"]
    types = "\n\n".join(["## Types", *(type_text(name, schemas[name]) for name in sorted(schemas))])
    return page("HTTP API", "the OpenAPI document of the API", INTRODUCTION, [*parts, types])


async def published() -> Schema:
    """Ask the app of a sentinel that is built and never started: it connects to nothing."""
    configure_logs(LogSettings(log_level="warning"))
    with tempfile.TemporaryDirectory() as folder:
        settings = read_settings(
            SECTIONS,
            flags={
                "database_url": "postgresql://localhost/none",
                "redis_url": "redis://localhost:1",
                "vault_url": Path(folder).as_uri(),
                "vault_link_secret": "0" * 32,
                "vault_link_url": "http://localhost",
                "centrifugo_url": "http://localhost:9",
                "centrifugo_api_key": "none",
                "centrifugo_token_secret": "0" * 32,
                "centrifugo_proxy_secret": "none",
            },
            environ={},
            file=empty_file(Path(folder)),
        )
        _, server = sentinel_parts(settings)
        transport = httpx.ASGITransport(server._app)  # type: ignore[arg-type]  # noqa: SLF001 - the role alone knows all routers
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.get("/api/openapi.json")
            found: Schema = answer.raise_for_status().json()
            return found


def empty_file(folder: Path) -> Path:
    """So that a shoal.toml in the current directory is not read."""
    file = folder / "empty.toml"
    file.touch()
    return file


def operations(description: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path in sorted(description["paths"]):
        for method, operation in sorted(description["paths"][path].items()):
            if isinstance(operation, dict) and "responses" in operation:
                yield method.upper(), path, operation


def operation_text(method: str, path: str, operation: Schema) -> str:
    needs = NEEDED[frozenset(name for one in operation.get("security") or () for name in one)]
    about = " ".join(
        f"{one.rstrip('.')}." for one in (operation.get("summary"), operation.get("description")) if one
    )
    parts = [f"### `{method} {path}`", f"{about} {needs}"]
    if parameters := operation.get("parameters"):
        rows = [
            [
                code(one["name"]),
                str(one["in"]),
                f"{type_of(one['schema'])}{', required' if one.get('required') else ''}",
                default_of(one["schema"]),
            ]
            for one in parameters
        ]
        parts.append(table(["parameter", "in", "value", "default"], rows))
    if body := operation.get("requestBody"):
        parts.append(f"Body: {content_of(body)}.")
    rows = [
        [status, content_of(answer), answer.get("description", "")]
        for status, answer in sorted(operation["responses"].items())
    ]
    parts.append(table(["status", "answer", "when"], rows))
    return "\n\n".join(parts)


def content_of(holder: Schema) -> str:
    return " or ".join(
        type_of(one["schema"]) if one.get("schema") else code(media)
        for media, one in holder.get("content", {}).items()
    )


def type_text(name: str, schema: Schema) -> str:
    parts = [f"### {name}"]
    if about := schema.get("description"):
        parts.append(" ".join(about.split()))
    if "enum" in schema:
        return "\n\n".join([*parts, f"One of {type_of(schema)}."])
    required = set(schema.get("required", ()))
    rows = [
        [
            code(field),
            f"{type_of(one)}{', required' if field in required else ''}",
            default_of(one),
            one.get("description", ""),
        ]
        for field, one in schema.get("properties", {}).items()
    ]
    return "\n\n".join([*parts, table(["field", "value", "default", "what it means"], rows)])


def type_of(schema: Schema) -> str:
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for join in ("oneOf", "anyOf"):
        if join in schema:
            return " or ".join(type_of(one) for one in schema[join])
    if "enum" in schema:
        return ", ".join(code("null" if value is None else value) for value in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    kinds = ", ".join(kind) if isinstance(kind, list) else str(kind)
    limits = [
        text.format(f"{schema[key]:g}")
        for key, text in (
            ("minimum", "≥ {}"),
            ("maximum", "≤ {}"),
            ("minLength", "at least {} long"),
            ("maxLength", "at most {} long"),
        )
        if key in schema
    ]
    described = f"{kinds} ({schema['format']})" if "format" in schema else kinds
    return ", ".join([described, *limits])


def default_of(schema: Schema) -> str:
    default = schema.get("default")
    return "" if default is None else code(json.dumps(default))
