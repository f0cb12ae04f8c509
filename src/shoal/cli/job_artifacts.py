"""``shoal job artifacts``, and keeping what a job made."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

import msgspec
import typer

from shoal.cli.client import Client, open_client
from shoal.cli.options import Json, configured
from shoal.roles.config import Given
from shoal.wire.jobs import ArtifactPage, ArtifactView, JobView


@configured
def artifacts(
    *,
    given: Given,
    job_id: Annotated[UUID, typer.Argument(metavar="JOB", help="The id of the job.")],
    save: Annotated[Path | None, typer.Option(help="Keep them in this folder.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """List everything a job has made, with links that expire."""
    with open_client(given) as client:
        found = all_artifacts(client, client.read_job(job_id))
        kept = {} if save is None else keep(client, job_id, found, save)
    if as_json:
        page = ArtifactPage(found, next=None)
        shown = {**msgspec.to_builtins(page), **({"kept": kept} if kept else {})}
        typer.echo(msgspec.json.encode(shown).decode())
        return
    for artifact in found:
        typer.echo(line_of(artifact, kept))


def all_artifacts(client: Client, job: JobView) -> list[ArtifactView]:
    """A job shows its first thousand; the others come in pages."""
    found = list(job.artifacts)
    cursor = job.artifacts_next
    while cursor:
        page = client.list_artifacts(job.id, cursor)
        found += page.artifacts
        cursor = page.next
    return found


def keep(client: Client, job_id: UUID, found: list[ArtifactView], folder: Path) -> dict[str, str]:
    """Download every artifact into ``folder/<job>/``; returns where each one is."""
    kept: dict[str, str] = {}
    for artifact in found:
        target = _target(folder / str(job_id), artifact)
        client.download(artifact, target)
        kept[str(artifact.id)] = str(target)
    return kept


def line_of(artifact: ArtifactView, kept: dict[str, str]) -> str:
    where = kept.get(str(artifact.id), artifact.url)
    return f"artifact  {artifact.type}  {artifact.size} bytes  {where}"


def _target(folder: Path, artifact: ArtifactView) -> Path:
    """Names come from tasks: only the last part is used, and a taken one gets the id in front."""
    name = Path(artifact.name).name or str(artifact.id)
    target = folder / name
    return folder / f"{artifact.id}-{name}" if target.exists() else target


def add_to(app: typer.Typer) -> None:
    app.command()(artifacts)
