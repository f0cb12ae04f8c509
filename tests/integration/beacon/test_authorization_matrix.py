"""Who may do what with which channel: the whole table, cell by cell, asked of both beacons.

``there`` is a channel that the token brings along: it is heard already, and cannot be asked for again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
import pytest_asyncio
from websockets.exceptions import ConnectionClosed

from shoal.ledger.pool import Ledger
from tests.contract.beacon.raw import NO_CLOSE, RawClient

from .site import Site
from .test_who_may import start_job

pytestmark = pytest.mark.asyncio(loop_scope="session")

MATRIX = """
action          visitor               nodes:{node}  nodes:online  jobs:{job}  chunks:complete  events:{owner}
subscribe       the node              there         no            no          no           no
subscribe       another node          no            no            no          no           no
subscribe       the owner             no            yes           yes         no           yes
subscribe       another user          no            yes           no          no           no
subscribe       a revoked node        no            no            no          no           no
subscribe       a removed user        no            no            no          no           no
subscribe       an expired node       no            no            no          no           no
subscribe       an expired user       no            no            no          no           no
subscribe       a forger              no            no            no          no           no
subscribe       nobody                no            no            no          no           no

publish         the node              no            no            no          yes          no
publish         another node          no            no            no          yes          no
publish         the owner             no            no            no          no           no
publish         another user          no            no            no          no           no
publish         a revoked node        no            no            no          no           no
publish         a removed user        no            no            no          no           no
publish         an expired node       no            no            no          no           no
publish         an expired user       no            no            no          no           no
publish         a forger              no            no            no          no           no
publish         nobody                no            no            no          no           no

presence        the node              no            no            no          no           no
presence        another node          no            no            no          no           no
presence        the owner             no            no            no          no           no
presence        another user          no            no            no          no           no
presence        a revoked node        no            no            no          no           no
presence        nobody                no            no            no          no           no

presence_stats  the node              no            no            no          no           no
presence_stats  the owner             no            no            no          no           no
presence_stats  nobody                no            no            no          no           no

history         the node              no            no            no          no           no
history         another node          no            no            no          no           no
history         the owner             no            no            no          no           no
history         another user          no            no            no          no           no
history         a revoked node        no            no            no          no           no
history         nobody                no            no            no          no           no
"""

WORDS = {None: "yes", 103: "no", 105: "there", 108: "no", 109: "no"}
ENDS = {3500: "no", 3501: "no", 4501: "no"}
"""A token that does not hold, none at all, and somebody who is not welcome any more."""


def cells() -> Iterator[Any]:
    head, *lines = (line.split("  ") for line in MATRIX.splitlines() if line)
    channels = [word.strip() for word in head if word][2:]
    for line in lines:
        action, visitor, *words = (word.strip() for word in line if word)
        for channel, word in zip(channels, words, strict=True):
            yield pytest.param(action, visitor, channel, word, id=f"{visitor} {action} {channel}")


@dataclass
class Place:
    """A node that works, and a job of a user."""

    at: Site
    node: str
    owner: UUID
    job: UUID

    async def visit(self, visitor: str) -> tuple[str, str]:
        """Who it is, and the token it comes with."""
        lives_s = -5 if "expired" in visitor else None
        if visitor == "nobody":
            return "", ""
        if visitor.endswith("node"):
            is_here = visitor in {"the node", "an expired node"}
            node = self.node if is_here else self.at.nodes.register()
            return node, self.at.node_token(node, lives_s=lives_s)
        is_owner = visitor in {"the owner", "an expired user", "a forger"}
        user = self.owner if is_owner else await self.at.user()
        token = self.at.portal_token(user, lives_s=lives_s)
        return str(user), forged(token) if visitor == "a forger" else token

    async def turn_away(self, visitor: str, who: str) -> None:
        """What happens to some once they are connected."""
        if visitor == "a revoked node":
            del self.at.nodes.known[who]
        if visitor == "a removed user":
            async with self.at.ledger.connection() as connection:
                await connection.execute("DELETE FROM users WHERE id = $1", UUID(who))


def forged(token: str) -> str:
    head, claims, _ = token.split(".")
    return f"{head}.{claims}.{'A' * 43}"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def place(at: Site, shared_ledger: Ledger) -> Place:
    owner = await at.user()
    return Place(at, at.nodes.register(), owner, await start_job(shared_ledger, owner))


async def reply_to(client: RawClient, number: int, **command: Any) -> dict[str, Any]:
    await client.say({"id": number, **command})
    while (message := await client.hear()).get("id") != number:
        pass
    return message


async def verdict_on(place: Place, visitor: str, action: str, request: dict[str, Any]) -> str:
    who, token = await place.visit(visitor)
    client = await RawClient.open(place.at.client_url)
    try:
        greeting = await reply_to(client, 1, connect={"token": token} if token else {})
        if "error" in greeting:
            return WORDS[greeting["error"]["code"]]
        await place.turn_away(visitor, who)
        reply = await reply_to(client, 2, **{action: request})
        return WORDS[reply.get("error", {}).get("code")]
    except ConnectionClosed as closed:
        return ENDS[closed.rcvd.code if closed.rcvd else NO_CLOSE]
    finally:
        await client.close()


@pytest.mark.parametrize(("action", "visitor", "channel", "expected"), list(cells()))
async def test_every_visitor_may_do_what_the_table_says_and_no_more(
    place: Place, action: str, visitor: str, channel: str, expected: str
) -> None:
    result = {"of": uuid4().hex}
    request: dict[str, Any] = {"channel": channel.format(node=place.node, job=place.job, owner=place.owner)}
    if action == "publish":
        request["data"] = result

    assert await verdict_on(place, visitor, action, request) == expected

    was_taken = result in [handed for _, handed in place.at.nodes.handed_in]
    assert was_taken == (action == "publish" and expected == "yes")
