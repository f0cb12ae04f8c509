"""A job that believes no node alone."""

from contextlib import AsyncExitStack
from typing import Any

import pytest

from shoal.app.engine_trial import try_engine

from .engines import app
from .site import FieldNode, Site, eventually

LIE = {"shift": 500}


async def hand_in(node: FieldNode, config: Any = None) -> None:
    """All that it holds, computed for this config."""
    await node.resync()
    for chunk_id, chunk in list(node.held.items()):
        await node.complete(chunk_id, node.result_of(chunk, config))


@pytest.mark.newest_servers
async def test_a_node_that_lies_changes_nothing_and_loses_all_it_did(site: Site) -> None:
    user, *hosts = [await site.user() for _ in range(4)]
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(site.node(host)) for host in hosts]
        for node, host in zip(nodes, hosts, strict=True):
            body = {"access": [{"accessType": "public"}]}
            await site.ask(host, "PUT", f"/api/nodes/{node.id}/access", body)
        liar, *honest = nodes
        job_id = await site.start(user, iterations=300, audience="public", replication=0.8)
        await liar.has_work()
        await hand_in(liar, LIE)

        async def job() -> Any:
            await hand_in(liar, LIE)
            for node in honest:
                await hand_in(node)
            return await site.job(user, job_id)

        ended = await eventually(job, lambda found: found["status"] not in {"queued", "processing"})

    assert ended["status"] == "complete", ended["error"]
    assert ended["result"] == pytest.approx(try_engine(app, "waves", {}, iterations=300), rel=1e-12)
    await eventually(site.left_of_jobs, lambda keys: keys == [])
