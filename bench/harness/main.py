"""Run ``bench.NAME.bench`` and print its figures as the last line. Called by ``bench/run``."""

import argparse
import importlib
import json
import os
import platform

from bench.harness.table import say
from shoal.runtime.logs import LogSettings, configure_logs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    configure_logs(LogSettings(log_level="warning"))
    bench = importlib.import_module(f"bench.{given.name}.bench")
    say(
        f"{given.name}{', quick' if given.quick else ''}: Python {platform.python_version()}, "
        f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} at the start"
    )
    figures: dict[str, float] = bench.measure(quick=given.quick)
    say(json.dumps({"bench": given.name, "figures": figures}))


if __name__ == "__main__":
    main()
