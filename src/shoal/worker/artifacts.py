"""What a task made goes to the vault, under a key that names the attempt."""

from shoal.app.artifact import Artifact
from shoal.vault.store import Vault
from shoal.worker.held import Claim


async def upload(vault: Vault, claim: Claim, artifact: Artifact, *, max_bytes: int) -> dict[str, object]:
    """Store one artifact under a key of this attempt; returns its row for ``add_artifacts``."""
    key = storage_path(claim, artifact)
    stored = await vault.put(key, artifact.source, content_type=artifact.content_type, max_bytes=max_bytes)
    return {
        "name": artifact.name,
        "artifact_type": artifact.type,
        "storage_path": key,
        "content_type": artifact.content_type,
        "file_size_bytes": stored.size,
        "duration_seconds": artifact.duration_seconds,
        "sha256": stored.sha256,
        "fallback_for": artifact.fallback_for,
    }


def storage_path(claim: Claim, artifact: Artifact) -> str:
    """``{user}/{job}/{kind}/{attempt}/{name}``: no two attempts ever write to the same place."""
    attempt = f"{claim.task_id}.{claim.token.hex[:8]}"
    return f"{claim.user_id}/{claim.job_id}/{artifact.kind}/{attempt}/{artifact.name}"
