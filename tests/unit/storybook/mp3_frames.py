"""Reading the frame headers of an MP3 file, straight from the standard (ISO 11172-3 and 13818-3)."""

from dataclasses import dataclass

MPEG_1, MPEG_2 = 3, 2
LAYER_3 = 1
KBIT_PER_SECOND = {
    MPEG_1: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    MPEG_2: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
SAMPLES_PER_SECOND = {MPEG_1: (44100, 48000, 32000), MPEG_2: (22050, 24000, 16000)}
SAMPLES = {MPEG_1: 1152, MPEG_2: 576}


@dataclass(frozen=True)
class Frame:
    kbit_per_second: int
    samples_per_second: int
    samples: int
    size: int

    @property
    def seconds(self) -> float:
        return self.samples / self.samples_per_second


def frames_of(mp3: bytes) -> list[Frame]:
    """Every frame from the first byte to the last; anything between or behind them is an error."""
    frames: list[Frame] = []
    at = 0
    while at < len(mp3):
        frame = _frame(int.from_bytes(mp3[at : at + 4]))
        at += frame.size
        frames.append(frame)
    assert at == len(mp3), "the last frame is cut off"
    return frames


def _frame(header: int) -> Frame:
    assert header >> 21 == 0x7FF, "no frame begins here"
    version, layer = header >> 19 & 3, header >> 17 & 3
    assert layer == LAYER_3
    kbit = KBIT_PER_SECOND[version][header >> 12 & 15]
    rate = SAMPLES_PER_SECOND[version][header >> 10 & 3]
    padding = header >> 9 & 1
    return Frame(kbit, rate, SAMPLES[version], SAMPLES[version] // 8 * kbit * 1000 // rate + padding)
