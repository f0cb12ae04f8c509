"""Where the vault is: its URL taken apart. Pure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from shoal.runtime.errors import Invalid
from shoal.vault.names import is_key

MAX_PREFIX_BYTES = 255

Cloud = Literal["s3", "gs", "az"]


@dataclass(frozen=True)
class FolderAddress:
    path: Path


@dataclass(frozen=True)
class BucketAddress:
    """A bucket (in Azure: a container), and what all keys in it start with."""

    cloud: Cloud
    bucket: str
    prefix: str | None


def parse_vault_url(url: str) -> FolderAddress | BucketAddress:
    if not url:
        raise Invalid(
            "vault_url_missing",
            "The setting vault_url is empty.",
            hint="Set SHOAL_VAULT_URL, for example to file:///var/lib/shoal or s3://bucket/prefix.",
        )
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _invalid("it is malformed") from None
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise _invalid("it has more than a place; credentials belong in the environment")
    path = unquote(parts.path)
    match parts.scheme:
        case "file":
            return _folder(parts.netloc, path)
        case "s3" | "gs" | "az":
            return _bucket(parts.scheme, parts.netloc, path.strip("/"))
        case _:
            raise _invalid("it does not start with file://, s3://, gs:// or az://")


def _folder(host: str, path: str) -> FolderAddress:
    if host not in {"", "localhost"} or not path.startswith("/") or "\0" in path:
        raise _invalid("file:// needs an absolute path, as in file:///var/lib/shoal")
    return FolderAddress(Path(path))


def _bucket(cloud: Cloud, bucket: str, prefix: str) -> BucketAddress:
    if not bucket or ":" in bucket:
        raise _invalid("it names no bucket")
    if prefix and (not is_key(prefix) or len(prefix.encode()) > MAX_PREFIX_BYTES):
        raise _invalid("its prefix could not be the start of a key")
    return BucketAddress(cloud, bucket, prefix or None)


def _invalid(why: str) -> Invalid:
    return Invalid(
        "invalid_vault_url",
        f"The setting vault_url cannot be used: {why}.",
        hint="Write gs://bucket/prefix, s3://bucket/prefix, az://container/prefix or file:///path.",
    )
