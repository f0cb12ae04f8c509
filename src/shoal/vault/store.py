"""The vault's front: the same calls, whether the bytes lie in a bucket or in a folder."""

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import Protocol

from shoal.runtime.clock import Clock, SystemClock
from shoal.runtime.errors import Invalid
from shoal.vault.address import FolderAddress, parse_vault_url
from shoal.vault.bucket import Bucket, open_store
from shoal.vault.folder import Folder
from shoal.vault.intake import Intake, Source
from shoal.vault.links import LinkSigner
from shoal.vault.names import check_content_type, check_filename, check_key
from shoal.vault.objects import Found, Stored
from shoal.vault.settings import WEEK_S, VaultSettings

__all__ = ["Found", "Stored", "Vault", "open_vault"]


class Store(Protocol):
    """What a bucket and a folder both do. Keys are checked by the vault before."""

    async def put(self, key: str, intake: Intake, content_type: str) -> None: ...
    def get(self, key: str, start: int, end: int | None) -> AsyncGenerator[bytes, None]: ...
    async def find(self, key: str) -> Found | None: ...
    def list(self, prefix: str) -> AsyncGenerator[Found, None]: ...
    async def delete(self, keys: Sequence[str]) -> None: ...
    async def check(self) -> None: ...


class Vault:
    """``signer`` is there for a folder whose links are configured; the API verifies with it."""

    def __init__(self, store: Store, *, signer: LinkSigner | None, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.signer = signer

    async def put(
        self, key: str, source: Source, *, content_type: str, max_bytes: int | None = None
    ) -> Stored:
        """Write an object, streaming.

        * Over ``max_bytes`` it is ``TooLarge``, and nothing is left behind.
        * An object that was there is replaced only once the new one is whole.
        """
        check_key(key)
        check_content_type(content_type)
        intake = Intake(source, max_bytes=max_bytes)
        await self._store.put(key, intake, content_type)
        return Stored(key, intake.size, intake.sha256)

    def get(self, key: str, *, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes, None]:
        """The bytes from ``start`` up to, not including, ``end``, as far as there are any.

        ``NotFound`` comes with the first block. Use ``contextlib.aclosing`` when you may stop early.
        """
        if start < 0 or (end is not None and end < 0):
            raise ValueError("a position in an object is not negative")
        return self._store.get(check_key(key), start, end)

    async def find(self, key: str) -> Found | None:
        return await self._store.find(check_key(key))

    def list(self, prefix: str) -> AsyncGenerator[Found, None]:
        """The objects below a prefix of whole segments, in no order; all of them below ``""``."""
        prefix = prefix.removesuffix("/")
        return self._store.list(check_key(prefix) if prefix else "")

    async def delete(self, keys: Sequence[str]) -> None:
        """Remove the objects; one that is not there is fine."""
        for key in keys:
            check_key(key)
        await self._store.delete(keys)

    async def link(
        self, key: str, *, content_type: str, filename: str | None = None, expires_in: timedelta
    ) -> str:
        """A URL that lets its bearer read the object until it ends; whether it exists is not asked.

        In a bucket, content type and name are those the object was stored with.
        """
        check_key(key)
        check_content_type(content_type)
        if filename is not None:
            check_filename(filename)
        if not timedelta(seconds=1) <= expires_in <= timedelta(seconds=WEEK_S):
            raise Invalid(
                "invalid_link_expiry",
                f"A link cannot live for {expires_in}.",
                hint="Choose between a second and a week.",
            )
        if isinstance(self._store, Bucket):
            return await self._store.sign(key, expires_in)
        if self.signer is None:
            raise Invalid(
                "vault_links_not_configured",
                "Links into a folder need a secret to sign them with, and there is none.",
                hint="Set SHOAL_VAULT_LINK_SECRET and SHOAL_VAULT_LINK_URL.",
            )
        return self.signer.sign(
            key,
            content_type=content_type,
            filename=filename,
            expires_at=self._clock.now() + expires_in,
        )

    async def check(self) -> None:
        """Return when the vault can be used; raises what is in the way."""
        await self._store.check()


def open_vault(settings: VaultSettings, *, clock: Clock | None = None) -> Vault:
    """The vault the settings name. A folder is made when it is not there."""
    address = parse_vault_url(settings.vault_url)
    clock = clock or SystemClock()
    if not isinstance(address, FolderAddress):
        return Vault(Bucket(open_store(address)), signer=None, clock=clock)
    signer = None
    if settings.vault_link_secret:
        signer = LinkSigner(settings.vault_link_secret, settings.vault_link_url)
    return Vault(Folder(address.path), signer=signer, clock=clock)
