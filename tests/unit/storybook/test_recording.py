"""What is read aloud, and the MP3 it becomes."""

from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from examples.storybook.recording import record
from examples.storybook.voice import BYTES_PER_SAMPLE, speak

from .mp3_frames import frames_of
from .samples import document

A_BREATH_S = 0.02  # the same words do not take exactly the same time twice


def seconds_of(text: str) -> float:
    samples, samples_per_second = speak(text)
    return len(samples) / BYTES_PER_SAMPLE / samples_per_second


def loudest(samples: bytes) -> int:
    return max(abs(sample) for sample in array("h", samples))


def test_a_chapter_is_an_mp3_of_128_kbit_and_plays_as_long_as_it_says(tmp_path: Path) -> None:
    target = tmp_path / "chapter.mp3"
    seconds = record(document(), target, lambda _: None)
    frames = frames_of(target.read_bytes())
    assert {frame.kbit_per_second for frame in frames} == {128}
    assert abs(sum(frame.seconds for frame in frames) - seconds) < 0.2


def test_a_recording_lasts_as_long_as_reading_its_paragraphs(tmp_path: Path) -> None:
    written = document()
    seconds = record(written, tmp_path / "chapter.mp3", lambda _: None)
    read = sum(seconds_of(paragraph) for paragraph in written.paragraphs)
    pauses_and_title = 0.6 * (len(written.paragraphs) + 1) + seconds_of("Chapter 2. Hunger.")
    assert abs(seconds - read - pauses_and_title) < 0.2
    assert 30 < seconds < 180


def test_progress_grows_with_every_paragraph(tmp_path: Path) -> None:
    said: list[float] = []
    record(document(), tmp_path / "chapter.mp3", said.append)
    assert said == sorted(set(said))
    assert len(said) == 1 + len(document().paragraphs)
    assert 0 < said[0] < said[-1] < 1


def test_something_is_heard() -> None:
    samples, samples_per_second = speak("Good evening.")
    assert samples_per_second >= 16000
    assert loudest(samples) > 3000


def test_longer_texts_take_longer() -> None:
    assert seconds_of("Good evening. " * 10) > 5 * seconds_of("Good evening.")


def test_letters_that_are_not_latin_are_read_by_the_nearest_latin_ones() -> None:
    assert seconds_of("Ольга, Ольга") == pytest.approx(seconds_of("Ol'ga, Ol'ga"), abs=A_BREATH_S)
    assert seconds_of("小明, 小明") == pytest.approx(seconds_of("XiaoMing, XiaoMing"), abs=A_BREATH_S)


def test_several_threads_can_speak_at_once() -> None:
    texts = ["One. " * number for number in range(1, 25)]
    alone = [seconds_of(text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(seconds_of, texts))
    assert together == pytest.approx(alone, abs=A_BREATH_S)
