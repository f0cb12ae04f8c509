"""A vault in a bucket of S3, Google Cloud Storage or Azure, through obstore."""

import asyncio
import atexit
import functools
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from shoal.runtime.errors import Invalid, NotFound, Unavailable
from shoal.vault.address import BucketAddress
from shoal.vault.intake import BLOCK, Intake
from shoal.vault.objects import Found

if TYPE_CHECKING:
    # These exist only as types.
    from obstore import GetOptions
    from obstore.store import RetryConfig

SMALLEST_PART = 16 * 1024 * 1024
MOST_PARTS = 9_000
"""S3 and GCS take 10,000 parts of one upload."""
PARTS_AT_ONCE = 4
DELETED_AT_ONCE = 10

_PATIENCE: Any = {"timeout": "1 day", "read_timeout": "120 s"}
"""Ends a connection that stalls. obstore's default ends any request after 30 s, also one whose
body still flows. Given as ``config``: ``client_options`` would discard what the environment says,
such as AWS_ALLOW_HTTP. (Never read ``.config`` back: obstore 0.12 panics on these two.)"""

_RETRY: "RetryConfig" = {"max_retries": 5, "retry_timeout": timedelta(seconds=30)}
"""Enough for a short outage; obstore's own 180 s would keep people waiting without a word."""

_SETTLE_S = 0.05


def open_store(address: BucketAddress) -> S3Store | GCSStore | AzureStore:
    """The store, with the credentials and options its own environment variables hold."""
    _settle_at_exit()
    prefix = address.prefix
    try:
        match address.cloud:
            case "s3":
                return S3Store(address.bucket, prefix=prefix, config=_PATIENCE, retry_config=_RETRY)
            case "gs":
                return GCSStore(address.bucket, prefix=prefix, config=_PATIENCE, retry_config=_RETRY)
            case "az":
                return AzureStore(address.bucket, prefix=prefix, config=_PATIENCE, retry_config=_RETRY)
    except (BaseError, ValueError, OSError) as error:
        raise Invalid(
            "vault_misconfigured",
            f"The vault {address.cloud}://{address.bucket} cannot be opened: "
            f"{str(error).partition(chr(10))[0]}.",
            hint="Check the store's environment variables: AWS_…, GOOGLE_… or AZURE_….",
        ) from error


@functools.cache
def _settle_at_exit() -> None:
    """Let obstore's threads put down what they hold before the interpreter goes.

    A thread that still touches a Python object then aborts the whole process, after all its work
    was done (seen in up to one exit of four). Goes when PyO3/pyo3-async-runtimes#40 is solved.
    """
    atexit.register(time.sleep, _SETTLE_S)


def part_size(bound: int | None) -> int:
    """How large the parts of an upload are, so that the largest one has not too many."""
    return max(SMALLEST_PART, -(-(bound or 0) // MOST_PARTS))


class Bucket:
    def __init__(self, store: S3Store | GCSStore | AzureStore) -> None:
        self._store = store

    async def put(self, key: str, intake: Intake, content_type: str) -> None:
        """Only ``close`` makes the object appear; a writer that is dropped leaves none.

        What fits one part goes in one request.
        """
        async with aclosing(intake.blocks()) as blocks:
            with _explained():
                writer = obstore.open_writer_async(
                    self._store,
                    key,
                    attributes={"Content-Type": content_type},
                    buffer_size=part_size(intake.bound()),
                    max_concurrency=PARTS_AT_ONCE,
                )
            async for block in blocks:
                with _explained():
                    await writer.write(block)
        with _explained():
            await writer.close()

    async def get(self, key: str, start: int, end: int | None) -> AsyncGenerator[bytes, None]:
        options: GetOptions = {}
        if start > 0 or end is not None:
            # A range outside the object is an error to the stores; here it is just empty.
            with _explained(key):
                size = (await obstore.head_async(self._store, key))["size"]
            end = size if end is None else min(end, size)
            if start >= end:
                return
            options = {"range": (start, end)}
        with _explained(key):
            result = await obstore.get_async(self._store, key, options=options)
            async for chunk in result.stream(min_chunk_size=BLOCK):
                yield bytes(chunk)

    async def find(self, key: str) -> Found | None:
        try:
            with _explained(key):
                meta = await obstore.head_async(self._store, key)
        except NotFound:
            return None
        return Found(key, meta["size"], meta["last_modified"])

    async def list(self, prefix: str) -> AsyncGenerator[Found, None]:
        with _explained():
            async for page in obstore.list(self._store, prefix or None):
                for meta in page:
                    yield Found(meta["path"], meta["size"], meta["last_modified"])

    async def delete(self, keys: Sequence[str]) -> None:
        """One by one: in a bulk call, GCS and Azure stop at the first that is not there."""
        turns = asyncio.Semaphore(DELETED_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for key in keys:
                group.create_task(self._delete(key, turns))

    async def _delete(self, key: str, turns: asyncio.Semaphore) -> None:
        async with turns:
            try:
                with _explained(key):
                    await obstore.delete_async(self._store, key)
            except NotFound:
                return

    async def sign(self, key: str, expires_in: timedelta) -> str:
        with _explained():
            return await obstore.sign_async(self._store, "GET", key, expires_in)

    async def check(self) -> None:
        """List a page: the bucket answers and knows us. Writing at every check would cost money."""
        with _explained():
            async for _ in obstore.list(self._store, chunk_size=1):
                return


@contextmanager
def _explained(key: str | None = None) -> Iterator[None]:
    """What obstore raises, in our words. Its own may hold signed URLs, so they are not shown."""
    try:
        yield
    except (BaseError, OSError) as error:
        if key is not None and isinstance(error, FileNotFoundError):
            raise NotFound("object_not_found", f"There is no object {key!r}.") from error
        raise Unavailable(
            "vault_unavailable",
            f"The bucket of the vault does not do as asked ({type(error).__name__}).",
            hint="Check that it exists, that it can be reached, and what our key may do in it.",
        ) from error
