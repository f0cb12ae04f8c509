"""The coordinator of the mesh: in a process of its own, or inside ``shoal up``."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from prometheus_client import CollectorRegistry

from shoal.brain.connection import Brain
from shoal.brain.leases import Lease
from shoal.brain.settings import BrainSettings
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.mesh.coordinator import Coordinator
from shoal.mesh.measures import CoordinatorMeasures
from shoal.mesh.publishing import shard_link
from shoal.mesh.pushes import LEASE, Pushes
from shoal.mesh.settings import CoordinatorSettings
from shoal.node.mesh.settings import MeshAgentSettings
from shoal.roles.config import RoleSettings
from shoal.roles.schema import Schema
from shoal.rpc.scheduler import SchedulerServicer
from shoal.rpc.server import RpcServer
from shoal.runtime.clock import SystemClock
from shoal.runtime.errors import Invalid
from shoal.runtime.lifecycle import Part, run_parts
from shoal.runtime.metrics import new_registry
from shoal.runtime.settings import Settings
from shoal.runtime.tickets import TicketSigner
from shoal.vault.settings import VaultSettings
from shoal.vault.store import Vault, open_vault
from shoal.wire._generated.scheduler_pb2_grpc import add_SchedulerServicer_to_server

LEASE_TTL = timedelta(seconds=6)
USUAL_LISTEN = "127.0.0.1:8090"
SHORTEST_SECRET = 32


def coordinator_parts(
    settings: Settings,
    *,
    ledger: Ledger,
    listener: Listener,
    brain: Brain,
    vault: Vault,
    registry: CollectorRegistry,
) -> tuple[list[Part], RpcServer]:
    own, token = settings[CoordinatorSettings], settings[MeshAgentSettings].mesh_token
    if len(own.mesh_secret) < SHORTEST_SECRET or not token:
        raise Invalid(
            "mesh_secrets_missing",
            "A coordinator needs mesh_secret, with 32 letters or more, and mesh_token.",
            hint="Set SHOAL_MESH_SECRET on coordinators, and SHOAL_MESH_TOKEN on coordinators and agents.",
        )
    coordinator = Coordinator(own, SystemClock(), CoordinatorMeasures(registry))
    pushes = Pushes(
        own,
        coordinator,
        ledger=ledger,
        vault=vault,
        lease=Lease(brain.client, LEASE, ttl=LEASE_TTL),
        brain=brain,
        woken=listener.subscribe("shoal_tasks"),
    )
    servicer = SchedulerServicer(
        coordinator,
        token=token,
        signer=TicketSigner(own.mesh_secret),
        link=partial(shard_link, vault),
        is_active=lambda: pushes.is_active,
    )

    def on_started(address: str) -> None:
        pushes.address = address

    server = RpcServer(
        own.coordinator_listen or USUAL_LISTEN,
        lambda server: add_SchedulerServicer_to_server(servicer, server),  # type: ignore[no-untyped-call]  # generated
        on_started=on_started,
    )
    return [server, pushes], server


async def run_coordinator(settings: Settings, *, on_ready: Callable[[str], None]) -> None:
    ledger = Ledger(settings[LedgerSettings], application="shoal coordinator")
    listener = Listener(settings[LedgerSettings], application="shoal coordinator")
    brain = Brain(settings[BrainSettings])
    parts, server = coordinator_parts(
        settings,
        ledger=ledger,
        listener=listener,
        brain=brain,
        vault=open_vault(settings[VaultSettings]),
        registry=new_registry(),
    )
    schema = Schema(settings[LedgerSettings], may_migrate=False)
    await run_parts(
        [schema, ledger, listener, brain, *parts],
        grace_s=settings[RoleSettings].grace_period_s,
        on_started=lambda: on_ready(server.address),
    )
