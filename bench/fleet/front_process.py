"""A server for (a): a whole sentinel, or a raw ASGI function that answers with bytes it was given.

On uvloop, as in production. Reads what it needs as JSON from its argument, and prints its address.
"""

import json
import sys
from pathlib import Path
from typing import Any

import uvloop

from shoal.api.server import HttpServer
from shoal.api.settings import ApiSettings
from shoal.roles.config import SECTIONS
from shoal.roles.sentinel import sentinel_parts
from shoal.runtime.lifecycle import run_parts
from shoal.runtime.settings import read_settings


def say(url: str) -> None:
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()


async def serve_sentinel(flags: dict[str, Any]) -> None:
    settings = read_settings(SECTIONS, flags=flags, environ={}, file=Path("/dev/null"))
    parts, server = sentinel_parts(settings, may_migrate=True)
    await run_parts(parts, grace_s=2, on_started=lambda: say(server.url))


async def serve_echo(answer: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]

    async def echo(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    server = HttpServer(echo, ApiSettings(api_port=0), drain_s=1)
    await server.start()
    say(server.url)
    await server.run()


async def main() -> None:
    asked = json.loads(sys.argv[1])
    if "answer" in asked:
        await serve_echo(asked["answer"].encode())
    else:
        await serve_sentinel(asked)


if __name__ == "__main__":
    uvloop.run(main())
