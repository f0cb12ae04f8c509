"""The settings of all roles: one flat list of names, made of the sections that stand beside their code."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from shoal.access.settings import AccessSettings
from shoal.api.settings import ApiSettings
from shoal.beacon.settings import BeaconSettings
from shoal.brain.settings import BrainSettings
from shoal.discord.settings import DiscordSettings
from shoal.events.settings import EventSettings
from shoal.fleet.settings import FleetSettings
from shoal.jobs.settings import RetentionSettings
from shoal.ledger.settings import LedgerSettings
from shoal.local.directory import DataDirectory, LocalSettings
from shoal.mesh.settings import CoordinatorSettings
from shoal.node.mesh.settings import MeshAgentSettings
from shoal.node.settings import NodeSettings
from shoal.runtime.logs import LogSettings
from shoal.runtime.settings import SECRET, Settings, read_settings
from shoal.runtime.traces import TraceSettings
from shoal.schedules.settings import ScheduleSettings
from shoal.vault.settings import VaultSettings
from shoal.worker.settings import ScaleSettings, WorkerSettings


class RoleSettings(msgspec.Struct, frozen=True, kw_only=True):
    grace_period_s: Annotated[
        float,
        msgspec.Meta(description="How long a process may take to end when it is told to.", ge=0),
    ] = 20.0


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    api_url: Annotated[
        str,
        msgspec.Meta(
            description="The API the command line talks to. Empty means the 'shoal up' of the data directory."
        ),
    ] = ""
    token: Annotated[
        str,
        msgspec.Meta(
            description="The token or key the command line shows. Empty means the local owner's.",
            extra=SECRET,
        ),
    ] = ""


SECTIONS: tuple[type[msgspec.Struct], ...] = (
    LocalSettings,
    LogSettings,
    RoleSettings,
    LedgerSettings,
    BrainSettings,
    BeaconSettings,
    FleetSettings,
    VaultSettings,
    AccessSettings,
    ApiSettings,
    RetentionSettings,
    ScheduleSettings,
    EventSettings,
    DiscordSettings,
    WorkerSettings,
    ScaleSettings,
    NodeSettings,
    CoordinatorSettings,
    MeshAgentSettings,
    ClientSettings,
    TraceSettings,
)


@dataclass(frozen=True)
class Given:
    """What a command line gave: the settings file it named, and values for settings."""

    flags: Mapping[str, object] = field(default_factory=dict)
    file: Path | None = None

    def with_flags(self, **flags: object) -> "Given":
        """With these as well; None is what was not given."""
        more = {name: value for name, value in flags.items() if value is not None}
        return Given(flags={**self.flags, **more}, file=self.file)


def read_config(given: Given) -> Settings:
    return _read(given, {})


def read_found_config(given: Given, found: Mapping[str, object]) -> Settings:
    """What nobody gave a value is as it was found."""
    return _read(given, found)


def read_offered_config(
    given: Given, directory: DataDirectory, *, url: str, coordinator: str = ""
) -> Settings:
    """What nobody gave a value is what the ``shoal up`` of this data directory uses."""
    return _read(given, offered_by(directory, url=url, coordinator=coordinator))


def read_attached_config(given: Given) -> Settings:
    """The settings of a process that joins the ``shoal up`` of its data directory, if one is running."""
    settings = read_config(given)
    directory = DataDirectory(settings[LocalSettings].data_dir)
    holder = directory.holder()
    if holder is None:
        return settings
    return read_offered_config(given, directory, url=holder.url, coordinator=holder.coordinator)


def offered_by(directory: DataDirectory, *, url: str, coordinator: str = "") -> dict[str, object]:
    """The settings that follow from a data directory whose API and coordinator are reached there."""
    from shoal.local.servers import servers_of  # noqa: PLC0415 - they need more than a base install has

    postgres, valkey = servers_of(directory)
    secrets = directory.secrets()
    return {
        "database_url": postgres.url,
        "redis_url": valkey.url,
        "vault_url": directory.vault.as_uri(),
        "vault_link_secret": secrets.link_secret,
        "vault_link_url": url,
        "jwt_secret": secrets.jwt_secret,
        "centrifugo_api_key": secrets.derive("centrifugo api key"),
        "centrifugo_token_secret": secrets.derive("centrifugo token secret"),
        "centrifugo_proxy_secret": secrets.derive("centrifugo proxy secret"),
        "operator_ids": (secrets.owner_id,),
        "mesh_secret": secrets.derive("mesh tickets"),
        "mesh_token": secrets.derive("mesh token"),
        "mesh_coordinators": (coordinator,) if coordinator else (),
        "mesh_store": str(directory.path / "mesh"),
        "api_url": url,
    }


def _read(given: Given, found: Mapping[str, object]) -> Settings:
    return read_settings(SECTIONS, flags=given.flags, environ=os.environ, file=given.file, found=found)
