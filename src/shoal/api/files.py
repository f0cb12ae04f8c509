"""``/files/…``: the objects of a folder vault, to whoever holds a signed link.

What is served was made by tasks, so a browser must take it as foreign: its type is never guessed, and
``Content-Security-Policy: sandbox`` gives an HTML file an origin of its own and no scripts.
"""

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from litestar import HttpMethod, Request, Response, route
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath
from litestar.response import Stream

from shoal.api.errors import problem_response, to_problem
from shoal.api.openapi import problems
from shoal.runtime.clock import Clock
from shoal.runtime.errors import NotFound
from shoal.vault.links import Grant, LinkSigner
from shoal.vault.objects import Found
from shoal.vault.ranges import Range, Unsatisfiable, parse_range
from shoal.vault.store import Vault

UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9 ._-]")

AnyRequest = Request[Any, Any, Any]


def files_handler(vault: Vault, signer: LinkSigner, clock: Clock) -> HTTPRouteHandler:
    @route(
        "/files/{key:path}",
        http_method=[HttpMethod.GET, HttpMethod.HEAD],
        summary="Read a file with a signed link",
        description="Takes a Range of bytes. The query comes with the link and cannot be changed.",
        tags=["Files"],
        responses={
            206: ResponseSpec(bytes, generate_examples=False, description="The range asked for"),
            **problems(403, 404, 416, 503),
        },
    )
    async def read_file(request: AnyRequest, key: FromPath[PurePosixPath]) -> Response[Any]:
        query = request.scope["query_string"].decode("latin-1")
        grant = signer.verify(str(key).lstrip("/"), query, clock.now())
        found = await vault.find(grant.key)
        if found is None:
            raise NotFound(
                "file_not_found",
                "The file of this link is not there any more.",
                hint="It may have been deleted with its job.",
            )
        return _respond(request, vault, grant, found)

    return read_file


def _respond(request: AnyRequest, vault: Vault, grant: Grant, found: Found) -> Response[Any]:
    headers = _headers(grant, found)
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(None, status_code=304, headers=headers)
    try:
        part = _range_asked(request, headers["ETag"], found.size)
    except Unsatisfiable as error:
        problem, _ = to_problem(error, status=416)
        refused = {"Content-Range": error.content_range, "Accept-Ranges": "bytes"}
        return problem_response(problem, refused, path=request.url.path)
    whole = Range(0, found.size)
    start, end = (part or whole).start, (part or whole).end
    headers |= {"Content-Type": grant.content_type, "Content-Length": str(end - start)}
    if part is not None:
        headers["Content-Range"] = part.content_range(found.size)
    status = 200 if part is None else 206
    if request.method == HttpMethod.HEAD or start == end:
        return Response(b"", status_code=status, headers=headers)
    return Stream(_blocks(vault, grant.key, start, end), status_code=status, headers=headers)


def _range_asked(request: AnyRequest, etag: str, size: int) -> Range | None:
    """A range counts for GET only, and under If-Range only while the file is the one meant."""
    if request.method != HttpMethod.GET or request.headers.get("if-range", etag) != etag:
        return None
    return parse_range(request.headers.get("range"), size)


async def _blocks(vault: Vault, key: str, start: int, end: int) -> AsyncIterator[bytes]:
    async with aclosing(vault.get(key, start=start, end=end)) as blocks:
        async for block in blocks:
            yield block


def _headers(grant: Grant, found: Found) -> dict[str, str]:
    changed = round(found.modified.timestamp() * 1_000_000)
    return {
        "ETag": f'"{found.size:x}-{changed:x}"',
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "Content-Disposition": disposition(grant.filename),
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
    }


def disposition(filename: str | None) -> str:
    """Opened in place, saved under the name; the name in both forms of RFC 6266."""
    if filename is None:
        return "inline"
    plain = UNSAFE_IN_NAME.sub("_", filename)
    return f"inline; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
