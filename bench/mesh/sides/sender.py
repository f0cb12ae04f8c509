"""What the kernel does without us: each connection gets the file, by sendfile."""

import socket
import sys
from pathlib import Path

from bench.harness.table import say


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        say(str(listening.getsockname()[1]))
        while True:
            connection, _ = listening.accept()
            with connection, Path(sys.argv[1]).open("rb") as file:
                connection.sendfile(file)


if __name__ == "__main__":
    main()
