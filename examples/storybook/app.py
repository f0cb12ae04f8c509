"""The app: one job, ``nuclear_v2``, and its five tasks.

shoal up --app examples.storybook.app:app
shoal job start nuclear_v2 --params @examples/storybook/couple.json --watch --save out
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from examples.storybook import claude, writer
from examples.storybook.charts import Charts, draw_charts
from examples.storybook.document import Document
from examples.storybook.pages import set_book, set_chapter
from examples.storybook.people import NuclearParams
from examples.storybook.prose import chapter
from examples.storybook.recording import record
from shoal import App, Context, Graph

app = App()

# The share of each phase: text runs from 10 to 50 percent, pages to 70, audio to 95.
PHASES = {"calculating": 10, "text": 40, "pdf": 20, "audio": 25, "finalizing": 4}

BOOK = "full_nuclear"


class ChapterTask(msgspec.Struct, frozen=True):
    """The input of the three tasks of a chapter."""

    number: int
    title: str


class Pages(msgspec.Struct, frozen=True):
    file: str
    pages: int


class Recording(msgspec.Struct, frozen=True):
    file: str
    duration_seconds: float


class IndexEntry(msgspec.Struct, frozen=True):
    number: int
    name: str
    author: str
    words: int
    pages: int
    duration_seconds: float
    files: tuple[str, ...]


class Index(msgspec.Struct, frozen=True):
    """The result of the job."""

    title: str
    documents: tuple[IndexEntry, ...]
    pages: int
    duration_seconds: float
    files: tuple[str, ...]


@app.task("calculate", phase="calculating")
def calculate(context: Context, params: NuclearParams) -> Charts:
    context.progress(0, "Looking up where the Sun and the Moon stood...")
    return draw_charts(params)


@app.task("text_generation", phase="text", retries=8, backoff=2, timeout=180)
def generate_text(context: Context, task: ChapterTask) -> Document:
    context.progress(0.1, f"Generating chapter: {task.title}...")
    charts = msgspec.convert(context.needs["calculate"], Charts)
    write = claude.write if claude.is_configured() else writer.write
    document = write(charts, task.number)
    context.progress(0.9, f"Generating chapter: {task.title}...")
    context.artifact(_text_file(document), _json(document), type="json", content_type="application/json")
    return document


@app.task("pdf_generation", phase="pdf", timeout=120)
def generate_pdf(context: Context, task: ChapterTask) -> Pages:
    context.progress(0.1, f"Setting the pages: {task.title}...")
    document = _text(context.needs, task.number)
    file = f"{document.stem}.pdf"
    pages = set_chapter(document, context.workdir / file)
    context.progress(0.9, f"Setting the pages: {task.title}...")
    context.artifact(file, context.workdir / file, type="pdf", content_type="application/pdf")
    return Pages(file, pages)


@app.task("audio_generation", phase="audio", timeout=120)
def generate_audio(context: Context, task: ChapterTask) -> Recording:
    def on_progress(fraction: float) -> None:
        context.progress(fraction, f"Reading aloud: {task.title}...")

    on_progress(0)
    document = _text(context.needs, task.number)
    file = f"{document.stem}.mp3"
    duration = round(record(document, context.workdir / file, on_progress), 3)
    context.artifact(
        file,
        context.workdir / file,
        type="audio_mp3",
        content_type="audio/mpeg",
        duration_seconds=duration,
    )
    return Recording(file, duration)


@app.task("finalize", phase="finalizing", timeout=180)
def finalize(context: Context) -> Index:
    context.progress(0, "Binding the book...")
    charts = msgspec.convert(context.needs["calculate"], Charts)
    numbers = range(1, charts.chapters + 1)
    documents = [_text(context.needs, number) for number in numbers]
    title = f"The Book of {' and '.join(writer.short_names(charts))}"
    pages = set_book(title, documents, context.workdir / f"{BOOK}.pdf")
    context.progress(0.8, "Writing the index...")
    entries = tuple(_entry(context.needs, document) for document in documents)
    index = Index(
        title=title,
        documents=entries,
        pages=pages,
        duration_seconds=round(sum(entry.duration_seconds for entry in entries), 3),
        files=(f"{BOOK}.json", f"{BOOK}.pdf"),
    )
    whole = {"index": index, "charts": charts, "chapters": documents}
    context.artifact(f"{BOOK}.json", _json(whole), type="json", content_type="application/json")
    context.artifact(
        f"{BOOK}.pdf", context.workdir / f"{BOOK}.pdf", type="pdf", content_type="application/pdf"
    )
    return index


@app.job("nuclear_v2", version="2", phases=PHASES)
def nuclear_v2(params: NuclearParams) -> Graph:
    graph = Graph()
    charts = graph.add(calculate, params)
    made = [charts]
    for number in range(1, params.chapters + 1):
        task = ChapterTask(number, chapter(number).title)
        text = graph.add(generate_text, task, name=_step("text", number), needs=[charts])
        pdf = graph.add(generate_pdf, task, name=_step("pdf", number), needs=[text])
        audio = graph.add(generate_audio, task, name=_step("audio", number), needs=[text, pdf])
        made += [text, pdf, audio]
    graph.add(finalize, needs=made)
    return graph


def _step(kind: str, number: int) -> str:
    return f"{kind}-{number:02}"


def _text(needs: Mapping[str, Any], number: int) -> Document:
    return msgspec.convert(needs[_step("text", number)], Document)


def _entry(needs: Mapping[str, Any], document: Document) -> IndexEntry:
    pages = msgspec.convert(needs[_step("pdf", document.number)], Pages)
    recording = msgspec.convert(needs[_step("audio", document.number)], Recording)
    return IndexEntry(
        number=document.number,
        name=document.title,
        author=document.author,
        words=document.words,
        pages=pages.pages,
        duration_seconds=recording.duration_seconds,
        files=(_text_file(document), pages.file, recording.file),
    )


def _text_file(document: Document) -> str:
    return f"{document.stem}_metadata.json"


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value))
