"""The showcase as a person runs it: from the command line to files that open."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pypdf import PdfReader

from tests.integration.cli.shoal_command import Shoal
from tests.unit.storybook.mp3_frames import frames_of
from tests.unit.storybook.samples import couple

from .claude_double import KEY, Answer, ClaudeDouble

APP = "examples.storybook.app:app"


def run_job(shoal: Shoal, params: dict[str, Any], out: Path) -> Any:
    shoal.up("--app", APP)
    arguments = ("--params", json.dumps(params), "--watch", "--save", str(out))
    return shoal.json("job", "start", "nuclear_v2", *arguments)


def kept_by_name(job: Any) -> dict[str, Path]:
    return {artifact["name"]: Path(job["kept"][artifact["id"]]) for artifact in job["artifacts"]}


def test_a_short_book_is_made_and_all_its_files_open(shoal: Shoal, tmp_path: Path) -> None:
    job = run_job(shoal, couple(chapters=3), tmp_path)
    assert job["status"] == "complete"
    assert (job["progress"]["percent"], job["progress"]["phase"]) == (100, "complete")

    kept = kept_by_name(job)
    assert Counter(artifact["type"] for artifact in job["artifacts"]) == {"json": 4, "pdf": 4, "audio_mp3": 3}
    assert all(artifact["size"] == kept[artifact["name"]].stat().st_size for artifact in job["artifacts"])
    for artifact in job["artifacts"]:
        if artifact["type"] == "audio_mp3":
            frames = frames_of(kept[artifact["name"]].read_bytes())
            assert {frame.kbit_per_second for frame in frames} == {128}
            assert abs(sum(frame.seconds for frame in frames) - artifact["duration"]) < 0.2
        elif artifact["type"] == "pdf":
            text = " ".join(page.extract_text() for page in PdfReader(kept[artifact["name"]]).pages)
            assert "Zoë Ångström and Łukasz Wójcik" in text

    index = job["result"]
    assert [entry["name"] for entry in index["documents"]] == ["Portraits", "Hunger", "First Light"]
    assert {file for entry in index["documents"] for file in entry["files"]} | set(
        index["files"]
    ) == kept.keys()
    whole = json.loads(kept["full_nuclear.json"].read_text(encoding="utf-8"))
    assert whole["index"] == index
    assert [chapter["author"] for chapter in whole["chapters"]] == ["template"] * 3
    assert json.loads(kept["02-hunger_metadata.json"].read_text(encoding="utf-8")) == whole["chapters"][1]


def test_a_chapter_that_claude_put_off_is_written_in_the_end(
    shoal: Shoal, claude: ClaudeDouble, tmp_path: Path
) -> None:
    claude.answers = [Answer(429, {"retry-after": "1"})]
    shoal.environment |= {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": claude.url,
        "NO_PROXY": "127.0.0.1",
    }
    job = run_job(shoal, couple(chapters=1), tmp_path)
    assert job["status"] == "complete"
    assert len(claude.requests) == 2
    whole = json.loads(kept_by_name(job)["full_nuclear.json"].read_text(encoding="utf-8"))
    (chapter,) = whole["chapters"]
    assert chapter["author"] == claude.requests[0]["model"]
    assert chapter["paragraphs"][1] == "The second one is short."


def test_a_wrong_key_fails_the_job_at_once_and_says_why(
    shoal: Shoal, claude: ClaudeDouble, tmp_path: Path
) -> None:
    shoal.environment |= {
        "ANTHROPIC_API_KEY": "wrong",
        "ANTHROPIC_BASE_URL": claude.url,
        "NO_PROXY": "127.0.0.1",
    }
    shoal.up("--app", APP)
    params = json.dumps(couple(chapters=1))
    done = shoal.run("job", "start", "nuclear_v2", "--params", params, "--watch", "--json")
    assert done.returncode == 1
    job = json.loads(done.stdout)
    assert job["status"] == "failed"
    assert "401" in job["error"]
    assert "wrong" not in job["error"]
