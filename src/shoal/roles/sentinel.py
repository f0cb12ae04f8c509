"""The sentinel: the HTTP API, and the chores of the rooms. It keeps no state."""

from collections.abc import Callable
from datetime import timedelta

from shoal.access.service import Access
from shoal.access.settings import AccessSettings
from shoal.api.app import build_app
from shoal.api.ended_jobs import ended_jobs_router
from shoal.api.jobs import jobs_router
from shoal.api.mesh import mesh_router
from shoal.api.schedules import schedules_router
from shoal.api.server import HttpServer
from shoal.api.settings import ApiSettings
from shoal.api.status import StatusDesk
from shoal.api.tasks import tasks_router
from shoal.api.types import job_types_router, task_types_router
from shoal.brain.connection import Brain
from shoal.brain.settings import BrainSettings
from shoal.discord.ports import Neighbours
from shoal.jobs.chores import Watchdog
from shoal.jobs.ended_jobs import EndedJobs
from shoal.jobs.measures import QueueMeasures
from shoal.jobs.retention import Retention
from shoal.jobs.service import Jobs
from shoal.jobs.settings import RetentionSettings
from shoal.jobs.store import sql as jobs_sql
from shoal.jobs.sweeper import Sweeper
from shoal.jobs.task_types import TaskTypeControl
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.mesh.service import MeshDesk
from shoal.roles.beacon import beacon_side
from shoal.roles.config import RoleSettings
from shoal.roles.discord import NoFleet, discord_side, nodes_shown
from shoal.roles.events import event_side
from shoal.roles.fleet import fleet_side
from shoal.roles.schedules import schedule_parts
from shoal.roles.schema import Schema
from shoal.runtime.clock import SystemClock
from shoal.runtime.lifecycle import Part, run_parts
from shoal.runtime.metrics import new_registry
from shoal.runtime.settings import Settings
from shoal.schedules.service import Schedules
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault
from shoal.wire.status import StatusMetrics


def sentinel_parts(
    settings: Settings, *, may_migrate: bool = False, with_coordinator: bool = False
) -> tuple[list[Part], HttpServer]:
    """The parts in the order in which they start; the server is the last."""
    clock = SystemClock()
    ledger = Ledger(settings[LedgerSettings], application="shoal sentinel")
    brain = Brain(settings[BrainSettings])
    vault = open_vault(settings[VaultSettings], clock=clock)
    access = Access(ledger, settings[AccessSettings], clock)
    jobs = Jobs(ledger, vault, link_expiry=timedelta(seconds=settings[VaultSettings].link_expiry_s))
    registry = new_registry()
    beacon = beacon_side(settings, access=access, ledger=ledger, brain=brain, registry=registry, clock=clock)
    listener = Listener(settings[LedgerSettings], application="shoal sentinel")
    discord = discord_side(settings, ledger=ledger, brain=brain, registry=registry, clock=clock)
    fleet = fleet_side(
        settings,
        ledger=ledger,
        listener=listener,
        brain=brain,
        vault=vault,
        beacon=beacon,
        registry=registry,
        clock=clock,
        guilds=discord.guilds,
    )
    events = event_side(settings, ledger=ledger, listener=listener, registry=registry, beacon=beacon)
    measures = QueueMeasures(ledger)
    registry.register(measures)

    checks = {"supabase": ledger.check, "redis": brain.check, "vault": vault.check, **beacon.checks}

    async def read_metrics() -> StatusMetrics:
        async with ledger.connection() as connection:
            active = await jobs_sql.count_active_jobs.value(connection)
        return StatusMetrics(
            active_jobs=active,
            active_nodes=await fleet.looks.count_nodes() if fleet.looks else 0,
            chunks_per_minute=fleet.measures.chunks_per_minute if fleet.measures else 0,
        )

    bot_parts = discord.parts(
        Neighbours(
            jobs=jobs,
            nodes=nodes_shown(ledger, fleet),
            grants=fleet.grants or NoFleet(),
            read_status=StatusDesk(checks, read_metrics).read_status,
        )
    )
    app = build_app(
        access=access,
        settings=settings[ApiSettings],
        registry=registry,
        before_metrics=[measures.refresh, *fleet.before_metrics, *events.before_metrics],
        checks=checks,
        read_metrics=read_metrics,
        vault=vault,
        clock=clock,
        handlers=[
            jobs_router(jobs, max_batch_bytes=settings[ApiSettings].api_max_batch_bytes),
            tasks_router(jobs),
            ended_jobs_router(EndedJobs(ledger)),
            schedules_router(Schedules(ledger)),
            job_types_router(jobs),
            task_types_router(TaskTypeControl(ledger), operators=settings[AccessSettings].operator_ids),
            mesh_router(MeshDesk(ledger, brain), operators=settings[AccessSettings].operator_ids),
            *beacon.handlers,
            *fleet.handlers,
            *events.handlers,
            *discord.handlers,
        ],
        open_handlers=[*beacon.open_handlers, *fleet.open_handlers],
    )
    server = HttpServer(
        beacon.in_front(app),
        settings[ApiSettings],
        drain_s=settings[RoleSettings].grace_period_s / 2,
        open_socket=beacon.open_socket,
    )
    schema = Schema(settings[LedgerSettings], may_migrate=may_migrate)
    chores = [Watchdog(ledger), Retention(ledger, settings[RetentionSettings]), Sweeper(ledger, vault)]
    schedules = schedule_parts(settings, ledger=ledger, listener=listener, registry=registry)
    parts = [*chores, *schedules, *beacon.parts, *events.parts, *bot_parts, *fleet.parts]
    if with_coordinator:
        from shoal.roles.coordinator import coordinator_parts  # noqa: PLC0415 - its libraries are an extra

        parts += coordinator_parts(
            settings, ledger=ledger, listener=listener, brain=brain, vault=vault, registry=registry
        )[0]
    return [schema, ledger, listener, brain, *parts, server], server


async def run_sentinel(settings: Settings, *, on_ready: Callable[[str], None]) -> None:
    parts, server = sentinel_parts(settings)
    await run_parts(
        parts,
        grace_s=settings[RoleSettings].grace_period_s,
        on_started=lambda: on_ready(server.url),
    )
