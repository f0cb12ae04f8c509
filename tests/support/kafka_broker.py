"""A real Kafka broker (KRaft, alone), from the jars of Maven Central in the user's cache, on loopback.

``python -m tests.support.kafka_broker`` fetches them where Java and Maven are; ``tests/prepare`` calls that.
"""

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from .generations import absent

POM = Path(__file__).with_name("kafka_broker.pom.xml")
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
FETCH_S = 600
READY_S = 60.0
END_S = 20.0
CLUSTER = "c2hvYWwtdGVzdHMtMDAwMQ"

PROPERTIES = """
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/logs
num.partitions=4
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.enable=false
"""
HEAP = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def jars_folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    cache = cache if cache.is_absolute() else Path.home() / ".cache"
    return cache / "shoal" / "kafka" / hashlib.sha256(POM.read_bytes()).hexdigest()[:16]


def java() -> str:
    """Ends the test where there is no Java, or no jars though they could have been fetched."""
    found = shutil.which("java")
    if found is None:
        raise absent("Java", "the broker of the tests needs it")
    if not (jars_folder() / "complete").exists():
        raise absent("Kafka", "tests/prepare fetches it where Maven is present")
    return found


def fetch() -> None:
    """Raises ``OSError`` or ``subprocess.SubprocessError`` where that cannot be done."""
    folder = jars_folder()
    if (folder / "complete").exists():
        return
    maven = shutil.which("mvn")
    if maven is None or shutil.which("java") is None:
        raise FileNotFoundError("Java or Maven is not on PATH")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [maven, "-q", "-B", "-f", str(POM), PLUGIN, f"-DoutputDirectory={folder}"]
    subprocess.run(command, check=True, timeout=FETCH_S, stdout=sys.stderr)
    (folder / "complete").touch()


class KafkaBroker:
    """``start``, ``stop`` and ``kill`` it; ports and data stay the same."""

    def __init__(self, folder: Path) -> None:
        self._java = java()
        self._folder = folder
        self._port, self._controller = _free_ports()
        self._properties = folder / "server.properties"
        self._properties.write_text(
            PROPERTIES.format(port=self._port, controller=self._controller, folder=folder)
        )
        self._log_file = folder / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._run_tool("format", "-t", CLUSTER, "-c", str(self._properties))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command(), "kafka.Kafka", str(self._properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
            )
        deadline = time.monotonic() + READY_S
        while not self._answers():
            assert self._process.poll() is None, self._log_file.read_text()[-4000:]
            assert time.monotonic() < deadline, self._log_file.read_text()[-4000:]
            time.sleep(0.1)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _command(self) -> list[str]:
        return [
            self._java,
            *HEAP,
            "-cp",
            f"{jars_folder()}/*",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        ]

    def _run_tool(self, *arguments: str) -> None:
        command = [*self._command(), "kafka.tools.StorageTool", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self._folder)
        assert done.returncode == 0, done.stdout + done.stderr

    def _answers(self) -> bool:
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


def _free_ports() -> tuple[int, int]:
    with closing(socket.socket()) as one, closing(socket.socket()) as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


if __name__ == "__main__":
    try:
        fetch()
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"Kafka is missing ({error}). The tests that need it are skipped, by name.")
