"""``shoal doctor``: look at each thing Shoal needs, and say what to do about what is wrong."""

import platform
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version

from shoal.beacon.centrifugo import Centrifugo, require_complete
from shoal.beacon.settings import BeaconSettings
from shoal.brain.connection import Brain
from shoal.brain.settings import BrainSettings
from shoal.discord.settings import DiscordSettings
from shoal.ledger.connection import connect
from shoal.ledger.migrate import require_current
from shoal.ledger.settings import LedgerSettings
from shoal.local.binaries import postgres_binaries, postgres_major, valkey_binary
from shoal.local.directory import DataDirectory, LocalSettings
from shoal.roles.config import Given, read_attached_config
from shoal.roles.discord import require_installed
from shoal.runtime.errors import ShoalError
from shoal.runtime.metrics import new_registry
from shoal.runtime.settings import Settings
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault

NOT_RUNNING = "none named: 'shoal up' brings its own"


@dataclass(frozen=True)
class Finding:
    part: str
    ok: bool
    found: str
    advice: str = ""


async def examine(given: Given) -> list[Finding]:
    found = [Finding("shoal", ok=True, found=f"{version('shoal')} on Python {platform.python_version()}")]
    settings = read_attached_config(given)
    for part, look in (
        ("data directory", _look_at_directory),
        ("embedded servers", _look_at_binaries),
        ("database", _look_at_database),
        ("redis", _look_at_redis),
        ("vault", _look_at_vault),
        ("beacon", _look_at_beacon),
        ("discord", _look_at_discord),
    ):
        found.append(await _finding(part, look, settings))
    return found


async def _finding(part: str, look: Callable[[Settings], Awaitable[str]], settings: Settings) -> Finding:
    try:
        return Finding(part, ok=True, found=await look(settings))
    except ShoalError as error:
        return Finding(part, ok=False, found=error.message, advice=error.hint)
    except Exception as error:  # noqa: BLE001 - a doctor reports what it finds
        return Finding(part, ok=False, found=f"{type(error).__name__}: {error}")


async def _look_at_directory(settings: Settings) -> str:
    """Without making one: whoever only looks leaves nothing behind."""
    directory = DataDirectory(settings[LocalSettings].data_dir)
    if not directory.is_prepared:
        return f"{directory.path}, not used yet: 'shoal up' makes it"
    DataDirectory.prepare(directory.path)
    holder = directory.holder()
    used = f"used by 'shoal up' (process {holder.pid}, {holder.url})" if holder else "not in use"
    return f"{directory.path}, {used}"


async def _look_at_binaries(_: Settings) -> str:
    return f"PostgreSQL {postgres_major(postgres_binaries())}, {valkey_binary().name}"


async def _look_at_database(settings: Settings) -> str:
    if not settings[LedgerSettings].database_url:
        return NOT_RUNNING
    connection = await connect(settings[LedgerSettings].direct_url, application="shoal doctor")
    try:
        await require_current(connection)
        return f"PostgreSQL {connection.get_server_version().major}, schema up to date"
    finally:
        await connection.close()


async def _look_at_redis(settings: Settings) -> str:
    if not settings[BrainSettings].redis_url:
        return NOT_RUNNING
    brain = Brain(settings[BrainSettings])
    await brain.start()
    try:
        info = await brain.client.info("server")
        return f"{info.get('server_name', 'redis')} {info.get('valkey_version', info['redis_version'])}"
    finally:
        await brain.stop()


async def _look_at_beacon(settings: Settings) -> str:
    own = settings[BeaconSettings]
    if not own.centrifugo_url:
        if own.centrifugo_token_secret:
            return "the hub inside the sentinel"
        return "none named: 'shoal up' has a hub inside; a sentinel then sends no live messages"
    require_complete(own)
    centrifugo = Centrifugo(own, new_registry())
    await centrifugo.start()
    try:
        await centrifugo.check()
        return f"Centrifugo at {own.centrifugo_url}; clients connect to {own.client_url}"
    finally:
        await centrifugo.stop()


async def _look_at_vault(settings: Settings) -> str:
    if not settings[VaultSettings].vault_url:
        return NOT_RUNNING
    vault = open_vault(settings[VaultSettings])
    await vault.check()
    return settings[VaultSettings].vault_url


async def _look_at_discord(settings: Settings) -> str:
    own = settings[DiscordSettings]
    if not own.discord_token:
        return "no token: no bot"
    require_installed()
    from shoal.discord.examination import examine_bot  # noqa: PLC0415 - only where there is a bot

    return await examine_bot(own.discord_token, own.discord_api_url)
