"""Write src/shoal/wire/_generated anew from the files beside this one: make proto."""

import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src"
PACKAGE = "shoal/wire/_generated"


def generate(target: Path) -> None:
    """Into ``target``, under the names of the package: what is generated imports itself by them."""
    sources = sorted(HERE.glob("*.proto"))
    outputs = [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python")]
    failed = protoc.main(
        [
            "protoc",
            f"--proto_path={PACKAGE}={HERE}",
            f"--proto_path={files('grpc_tools') / '_proto'}",
            *outputs,
            *(f"{PACKAGE}/{source.name}" for source in sources),
        ]
    )
    if failed:
        sys.exit(failed)


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCES)
