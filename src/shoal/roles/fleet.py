"""The fleet of a sentinel: its parts and its doors. Without a beacon there is none."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from litestar.types import ControllerRouterHandler
from prometheus_client import CollectorRegistry

from shoal.api.node_door import node_door_handlers
from shoal.api.nodes import configs_handler, nodes_router
from shoal.api.settings import ApiSettings
from shoal.beacon.settings import BeaconSettings
from shoal.brain.connection import Brain
from shoal.fleet.aggregation import Aggregation
from shoal.fleet.brain import FleetBrain
from shoal.fleet.channel import FleetDesk, open_fleet
from shoal.fleet.chores import FleetClaimer, FleetSweeper
from shoal.fleet.completions import Completions
from shoal.fleet.configs import Configs
from shoal.fleet.directory import NodeDirectory
from shoal.fleet.dispatch import Dispatch
from shoal.fleet.door import NodeDoor
from shoal.fleet.grants import Grants
from shoal.fleet.heartbeats import Heartbeats
from shoal.fleet.limits import CompletionLimit, ConnectionLimit
from shoal.fleet.looks import FleetLooks
from shoal.fleet.measures import FleetMeasures
from shoal.fleet.opening import Opening
from shoal.fleet.owners import NodeDesk
from shoal.fleet.ports import Guilds, NoGuilds
from shoal.fleet.pushes import Pushes
from shoal.fleet.reconciler import Reconciler
from shoal.fleet.settings import FleetSettings
from shoal.fleet.tasks import FleetTasks
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.roles.beacon import BeaconSide
from shoal.runtime.clock import Clock
from shoal.runtime.lifecycle import Part
from shoal.runtime.settings import Settings
from shoal.vault.store import Vault


@dataclass
class FleetSide:
    """What a sentinel adds for its fleet."""

    parts: list[Part] = field(default_factory=list)
    handlers: list[ControllerRouterHandler] = field(default_factory=list)
    open_handlers: list[ControllerRouterHandler] = field(default_factory=list)
    before_metrics: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    measures: FleetMeasures | None = None
    looks: FleetLooks | None = None
    grants: Grants | None = None
    nodes: NodeDesk | None = None


def fleet_side(
    settings: Settings,
    *,
    ledger: Ledger,
    listener: Listener,
    brain: Brain,
    vault: Vault,
    beacon: BeaconSide,
    registry: CollectorRegistry,
    clock: Clock,
    guilds: Guilds | None = None,
) -> FleetSide:
    configs = Configs(ledger, brain.client)
    if beacon.beacon is None or beacon.gate is None:
        return FleetSide(handlers=[configs_handler(configs)])
    own = settings[FleetSettings]
    scripts, looks = FleetBrain(brain.client), FleetLooks(brain.client)
    pushes = Pushes(beacon.beacon, clock)
    measures = FleetMeasures(registry, looks)
    dispatch = Dispatch(scripts, pushes, measures)
    directory = NodeDirectory(ledger, looks)
    opening = Opening(
        ledger,
        scripts,
        looks,
        configs=configs,
        guilds=guilds or NoGuilds(),
        dispatch=dispatch,
        pushes=pushes,
    )
    tasks = FleetTasks(ledger)
    aggregation = Aggregation(ledger, scripts, tasks, vault=vault, pushes=pushes, measures=measures)
    grants = Grants(scripts, looks, directory=directory, dispatch=dispatch, pushes=pushes)
    desk = FleetDesk(
        scripts,
        looks,
        directory=directory,
        heartbeats=Heartbeats(ledger, scripts, directory, stall_s=own.fleet_stall_s),
        completions=Completions(
            scripts, tasks, vault=vault, pushes=pushes, measures=measures, on_full=aggregation.begin
        ),
        configs=configs,
        pushes=pushes,
        limit=CompletionLimit(brain.client),
        measures=measures,
    )
    open_fleet(beacon.gate, desk, measures)
    sweeper = FleetSweeper(
        ledger,
        brain.client,
        scripts,
        looks,
        aggregation=aggregation,
        dispatch=dispatch,
        grants=grants,
        pushes=pushes,
        reconciler=Reconciler(ledger, scripts, looks, opening=opening, pushes=pushes),
        measures=measures,
        silence_s=own.fleet_silence_s,
        woken=listener.subscribe("shoal_cancelled"),
    )
    door = NodeDoor(
        ledger,
        brain.client,
        clock,
        tokens=beacon.tokens,
        limit=ConnectionLimit(brain.client, per_minute=own.node_connections_per_minute),
    )
    nodes = NodeDesk(ledger, brain.client, looks, directory=directory, grants=grants)
    return FleetSide(
        parts=[door, FleetClaimer(opening, listener.subscribe("shoal_tasks")), sweeper],
        handlers=[nodes_router(nodes), configs_handler(configs)],
        open_handlers=list(
            node_door_handlers(
                door,
                desk,
                client_url=settings[BeaconSettings].client_url,
                public_url=settings[ApiSettings].api_public_url,
                address_header=own.node_address_header,
            )
        ),
        before_metrics=[measures.refresh],
        measures=measures,
        looks=looks,
        grants=grants,
        nodes=nodes,
    )
