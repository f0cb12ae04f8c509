"""The secrets of one data directory: made once, at first use, and never changed by us."""

import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path
from uuid import UUID, uuid4

import msgspec

from shoal.runtime.durable import sync_directory
from shoal.runtime.errors import Invalid


class LocalSecrets(msgspec.Struct, frozen=True, kw_only=True):
    """What tokens and links are signed with, and who the local owner is."""

    jwt_secret: str
    link_secret: str
    owner_id: UUID

    def derive(self, purpose: str) -> str:
        """A secret for this purpose alone; from it, nothing follows about the others."""
        return hmac.new(self.jwt_secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def __repr__(self) -> str:
        # Secrets must not reach a log by accident.
        return f"LocalSecrets(owner_id={self.owner_id})"


def read_or_create(path: Path) -> LocalSecrets:
    """Return the secrets in ``path``. Of processes that create it at once, the first one wins."""
    if not path.exists():
        _create(path)
    try:
        return msgspec.json.decode(path.read_bytes(), type=LocalSecrets)
    except (OSError, msgspec.DecodeError) as error:
        raise Invalid(
            "secrets_unreadable",
            f"The secrets in {path} cannot be read: {error}.",
            hint="Restore the file from a backup, or delete it: tokens and links then end.",
        ) from error


def _create(path: Path) -> None:
    made = LocalSecrets(
        jwt_secret=secrets.token_urlsafe(48),
        link_secret=secrets.token_urlsafe(48),
        owner_id=uuid4(),
    )
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".secrets-")  # mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(made))
            file.flush()
            os.fsync(file.fileno())
        # A link, unlike a rename, does not replace what somebody else made in the meantime.
        path.hardlink_to(temporary)
        sync_directory(path.parent)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
