import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
GENERATED = Path("shoal/wire/_generated")


def test_what_is_generated_is_what_the_sources_say(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "proto" / "generate.py", tmp_path], check=True)
    written = {file.name: file.read_text() for file in (tmp_path / GENERATED).iterdir()}
    here = {file.name: file.read_text() for file in (ROOT / "src" / GENERATED).glob("*_pb2*")}
    assert written.keys() == here.keys()
    assert [name for name in here if here[name] != written[name]] == [], "run: make proto"


def test_the_names_on_the_wire_have_no_package() -> None:
    from shoal.wire._generated import scheduler_pb2, shard_transfer_pb2  # noqa: PLC0415 - the extra 'mesh'

    scheduler = scheduler_pb2.DESCRIPTOR.services_by_name["Scheduler"]
    assert scheduler.full_name == "Scheduler"
    names = {"getWork", "reportTransferTaskCompletion", "heartbeat"}
    assert names <= {method.name for method in scheduler.methods}
    assert shard_transfer_pb2.DESCRIPTOR.services_by_name["ShardTransfer"].full_name == "ShardTransfer"


def test_the_fields_of_a_simple_client_keep_their_numbers() -> None:
    from shoal.wire._generated import scheduler_pb2 as scheduler  # noqa: PLC0415 - the extra 'mesh'
    from shoal.wire._generated import shard_transfer_pb2 as transfer  # noqa: PLC0415

    expected: dict[Any, list[str]] = {
        scheduler.ServerStatus: ["server_address", "job_id", "shards_owned"],
        scheduler.TransferTask: ["source_type", "job_id", "shard_id", "upstream_server_addr", "gcs_path"],
        scheduler.TransferTaskComplete: ["server_address", "job_id", "shard_id"],
        scheduler.HeartbeatRequest: ["server_address"],
        transfer.ShardRequest: ["job_id", "shard_id", "from_piece"],
        transfer.PieceData: ["shard_id", "piece_index", "total_pieces", "data", "crc32c"],
    }
    for message, names in expected.items():
        numbers = {field.name: field.number for field in message.DESCRIPTOR.fields}
        assert {name: numbers[name] for name in names} == {name: i for i, name in enumerate(names, 1)}
