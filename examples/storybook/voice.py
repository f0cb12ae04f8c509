"""Reading aloud with eSpeak NG, from the library and the voices in the wheel ``espeakng-loader``.

The library has one global state: one text at a time, behind a lock. It speaks about a thousand times
faster than a person and lets go of the interpreter meanwhile, so the lock costs next to nothing, and no
task needs a process of its own.
"""

import ctypes
import threading
from functools import cache

import espeakng_loader  # type: ignore[import-untyped]  # it has no stubs
from anyascii import anyascii

VOICE = b"en"
WORDS_PER_MINUTE = 165

# From espeak-ng/speak_lib.h.
AUDIO_OUTPUT_SYNCHRONOUS = 2
INITIALIZE_DONT_EXIT = 0x8000
POS_CHARACTER = 1
CHARS_UTF8 = 1
PARAMETER_RATE = 1

BYTES_PER_SAMPLE = 2

_one_at_a_time = threading.Lock()


def speak(text: str) -> tuple[bytes, int]:
    """The text as 16-bit mono samples, and how many of them make a second.

    The voice knows English: letters that are not Latin are read by their nearest Latin ones.
    """
    spoken = anyascii(text).encode()
    with _one_at_a_time:
        espeak = _espeak()
        return espeak.speak(spoken), espeak.samples_per_second


@cache
def _espeak() -> "_Espeak":
    return _Espeak()


class _Espeak:
    def __init__(self) -> None:
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        data = espeakng_loader.get_data_path().encode()
        self.samples_per_second = int(
            self._library.espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, data, INITIALIZE_DONT_EXIT)
        )
        if self.samples_per_second <= 0:
            raise RuntimeError("eSpeak NG does not start: its data cannot be read")
        self._samples = bytearray()
        # Kept here, since the library keeps only the address.
        self._on_samples = _ON_SAMPLES(self._take)
        self._library.espeak_SetSynthCallback(self._on_samples)
        self._check(self._library.espeak_SetVoiceByName(VOICE))
        self._check(self._library.espeak_SetParameter(PARAMETER_RATE, WORDS_PER_MINUTE, 0))

    def speak(self, text: bytes) -> bytes:
        self._samples.clear()
        size = ctypes.c_size_t(len(text) + 1)
        self._check(self._library.espeak_Synth(text, size, 0, POS_CHARACTER, 0, CHARS_UTF8, None, None))
        return bytes(self._samples)

    def _take(self, samples: int | None, count: int, _events: int | None) -> int:
        if samples and count > 0:
            self._samples += ctypes.string_at(samples, count * BYTES_PER_SAMPLE)
        return 0  # go on

    def _check(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(f"eSpeak NG answered with error {status}")


_ON_SAMPLES = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
