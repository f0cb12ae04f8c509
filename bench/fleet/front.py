"""(a) Chunks a second through one sentinel: complete and get the next, over HTTP as Centrifugo asks it.

Beside the same server, where a raw ASGI function answers with the same bytes. Both are asked by the same
client, over as many connections, with the same requests: those of nodes that hold a chunk each and hand it in
as soon as they have it. Whatever the client itself costs is on both sides.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import msgspec

from bench.harness.servers import embedded_postgres, embedded_valkey
from shoal.beacon.configuration import PROXY_SECRET_HEADER

SECRET = "the secret of a bench that both sides know"
CONNECTIONS = 64
NODES = 512
SECONDS = 4.0
OWNER = UUID("00000000-0000-4000-8000-00000000000a")
RESULT = {"meanDps": 12500.5, "stdDps": 250.3, "minDps": 11800.0, "maxDps": 13200.0, "iterations": 1000}


@dataclass
class Node:
    id: str
    pubkey_hash: str
    chunk: str = ""


class Connection:
    """One connection that asks one thing at a time; as little work as an HTTP client can have."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._head = (
            f"POST /proxy/rpc HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
            f"{PROXY_SECRET_HEADER}: {SECRET}\r\ncontent-length: "
        ).encode()

    @classmethod
    async def open(cls, url: str) -> "Connection":
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        return cls(reader, writer, place.netloc)

    async def ask(self, body: bytes) -> bytes:
        self._writer.write(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        return await self._reader.readexactly(length)


def question(node: Node, method: str, data: Any) -> bytes:
    meta = {"kind": "node", "pubkey_hash": node.pubkey_hash}
    return msgspec.json.encode(
        {
            "client": "c0ffee00-0000-4000-8000-000000000000",
            "transport": "websocket",
            "protocol": "json",
            "encoding": "json",
            "user": node.id,
            "method": method,
            "data": data,
            "meta": meta,
        }
    )


async def complete_for(url: str, nodes: list[Node], *, seconds: float, is_echo: bool) -> float:
    """Completions a second."""
    connections = [await Connection.open(url) for _ in range(CONNECTIONS)]
    share = len(nodes) // CONNECTIONS
    end = time.perf_counter() + seconds

    async def drive(connection: Connection, mine: list[Node]) -> int:
        done = 0
        while time.perf_counter() < end:
            for node in mine:
                answer = await connection.ask(
                    question(node, "completeChunk", {"chunkId": node.chunk, "result": RESULT, "wanted": 1})
                )
                said = msgspec.json.decode(answer)["result"]["data"]
                assert said["verdict"] == "OK", said
                if not is_echo:
                    node.chunk = said["chunks"][0]["id"]
                done += 1
        return done

    began = time.perf_counter()
    counts = await asyncio.gather(
        *[drive(one, nodes[at * share : (at + 1) * share]) for at, one in enumerate(connections)]
    )
    return sum(counts) / (time.perf_counter() - began)


@asynccontextmanager
async def process(asked: dict[str, Any]) -> AsyncIterator[str]:
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.fleet.front_process",
        json.dumps(asked),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert running.stdout is not None
    try:
        while not (line := await running.stdout.readline()).startswith(b"http"):
            assert line, "the server ended"
        yield line.decode().strip()
    finally:
        running.terminate()
        await running.wait()


async def nodes_of_the_ledger(connection: "asyncpg.Connection[Any]") -> list[Node]:
    await connection.execute(
        "INSERT INTO users (id, name) VALUES ($1, 'bench') ON CONFLICT DO NOTHING", OWNER
    )
    rows = await connection.fetch(
        "INSERT INTO nodes (user_id, public_key, claimed_at) "
        "SELECT $1, sha256(n::text::bytea), clock_timestamp() FROM generate_series(1, $2) AS n "
        "RETURNING id, encode(sha256(public_key), 'hex') AS hash",
        OWNER,
        NODES,
    )
    return [Node(str(row["id"]), row["hash"]) for row in rows]


async def start_job(connection: "asyncpg.Connection[Any]") -> None:
    await connection.execute("SELECT shoal.register_job_type('bench', '1', '{}', '[]')")
    task = {"engine": "dps@1", "iterations": 10**9, "size": 1000, "config": {}}
    graph = {"tasks": [{"name": "t", "task_type": "fleet:dps", "executor": "fleet", "input": task}]}
    jobs = json.dumps([{"type": "bench", "graph": graph}])
    await connection.execute("SELECT create_jobs($1::text::jsonb, $2)", jobs, OWNER)


async def give_each_a_chunk(url: str, nodes: list[Node]) -> str:
    """An answer to a completion, as the echo is to give it."""
    connection = await Connection.open(url)
    answer = b""
    for node in nodes:
        said = {"chunks": {}, "engines": ["dps@1"], "maxParallel": 1, "chunkS": 60.0}
        while not node.chunk:
            answer = await connection.ask(question(node, "heartbeat", said))
            held = msgspec.json.decode(await connection.ask(question(node, "getAssignedChunks", {})))[
                "result"
            ]["data"]["chunks"]
            node.chunk = held[0]["id"] if held else ""
    completed = {"chunkId": nodes[0].chunk, "result": RESULT, "wanted": 1}
    answer = await connection.ask(question(nodes[0], "completeChunk", completed))
    nodes[0].chunk = msgspec.json.decode(answer)["result"]["data"]["chunks"][0]["id"]
    return answer.decode()


async def compare(folder: Path, *, repetitions: int) -> tuple[list[float], list[float]]:
    """Completions a second of a sentinel, and of the echo."""
    async with embedded_postgres(folder) as postgres, embedded_valkey(folder) as valkey:
        flags = {
            "database_url": postgres.url,
            "redis_url": valkey.url,
            "vault_url": (folder / "vault").as_uri(),
            "jwt_secret": SECRET,
            "centrifugo_url": "http://127.0.0.1:9",
            "centrifugo_api_key": SECRET,
            "centrifugo_token_secret": SECRET,
            "centrifugo_proxy_secret": SECRET,
            "api_port": 0,
            "log_level": "error",
        }
        async with process(flags) as url:
            connection = await asyncpg.connect(postgres.url)
            nodes = await nodes_of_the_ledger(connection)
            await start_job(connection)
            await connection.close()
            answer = await give_each_a_chunk(url, nodes)
            async with process({"answer": answer}) as echo:
                ours, theirs = [], []
                for _ in range(repetitions):
                    ours.append(await complete_for(url, nodes, seconds=SECONDS, is_echo=False))
                    theirs.append(await complete_for(echo, nodes, seconds=SECONDS, is_echo=True))
                return ours, theirs
