"""Keeping what the voice reads as MP3 of 128 kbit/s."""

from collections.abc import Callable
from pathlib import Path

import lameenc  # type: ignore[import-not-found]  # a bare extension module, without stubs

from examples.storybook.document import Document
from examples.storybook.voice import BYTES_PER_SAMPLE, speak

KBIT_PER_SECOND = 128
QUALITY = 5  # of 0, slow, to 9; speech does not get better below it
PAUSE_S = 0.6


def record(document: Document, target: Path, on_progress: Callable[[float], None]) -> float:
    """Read the chapter aloud into an MP3 file; returns how long it plays, in seconds."""
    parts = (f"Chapter {document.number}. {document.title}.", *document.paragraphs)
    encoder: lameenc.Encoder | None = None
    with target.open("wb") as file:
        for number, part in enumerate(parts, start=1):
            samples, samples_per_second = speak(part)
            encoder = encoder or _encoder(samples_per_second)
            pause = bytes(int(PAUSE_S * samples_per_second) * BYTES_PER_SAMPLE)
            file.write(encoder.encode(samples + pause))
            on_progress(number / (len(parts) + 1))
        if encoder is not None:
            file.write(encoder.flush())
    # At a constant bit rate the size is the time, with what the encoder adds at both ends.
    return target.stat().st_size * 8 / (KBIT_PER_SECOND * 1000)


def _encoder(samples_per_second: int) -> lameenc.Encoder:
    encoder = lameenc.Encoder()
    encoder.set_bit_rate(KBIT_PER_SECOND)
    encoder.set_in_sample_rate(samples_per_second)
    encoder.set_channels(1)
    encoder.set_quality(QUALITY)
    encoder.silence()
    return encoder
