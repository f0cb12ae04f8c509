"""``jobs:{id}``: who may listen to a job. A user hears what the policies let them read."""

from typing import Any

import msgspec

from shoal.beacon.gate import Channel, Gate
from shoal.beacon.model import ErrorCode, Peer, Refused, Subscribed
from shoal.beacon.namespaces import JOBS
from shoal.jobs.live import Watched
from shoal.jobs.rules import job_of_channel
from shoal.jobs.store import live_message, sql
from shoal.ledger.pool import Ledger

PORTAL = "portal"


def open_jobs(gate: Gate, ledger: Ledger, watched: Watched) -> None:
    async def listen(peer: Peer, name: str, _data: Any) -> Subscribed:
        """The reply brings the state of now: what is said later, is said to whoever listens then."""
        job_id = job_of_channel(name)
        if peer.kind != PORTAL or job_id is None:
            raise _denied()
        claims = {"sub": peer.user, "role": "authenticated"}
        async with ledger.acting_as(claims) as connection:
            row = await sql.read_live_jobs.row(connection, job_ids=[job_id])
        if row is None:
            raise _denied()
        watched.note(job_id)
        return Subscribed(data=msgspec.to_builtins(live_message(row)))

    gate.open("jobs", Channel(JOBS, subscribe=listen))


def _denied() -> Refused:
    return Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
