"""The environments of the peers, as ``bench/run`` made them."""

import json
import os


def installed_peers() -> dict[str, str]:
    """Peer → where it lives: the Python of its environment, or the folder of its node packages."""
    found: dict[str, str] = json.loads(os.environ.get("BENCH_PEERS", "{}"))
    return found
