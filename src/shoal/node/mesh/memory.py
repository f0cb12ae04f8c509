"""How glibc hands out large blocks. Each message of a transfer is one, of a little over a megabyte.

By default glibc maps such a block anew and gives it back to the system, with a page fault for every 4 KiB in
between. Kept in the heap, transfers are nearly three times as fast (docs/explanation/mesh.md).
"""

import ctypes
import sys

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
LARGE = 32 * 1024 * 1024
KEPT = 16 * 1024 * 1024
HEAPS = 2
"""Else each thread keeps blocks of its own."""


def keep_large_blocks() -> None:
    """For the whole process, from now on. Elsewhere than on glibc it does nothing."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # musl has none
        return
    mallopt(M_MMAP_THRESHOLD, LARGE)
    mallopt(M_TRIM_THRESHOLD, KEPT)
    mallopt(M_ARENA_MAX, HEAPS)
