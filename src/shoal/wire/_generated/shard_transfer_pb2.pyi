from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ShardRequest(_message.Message):
    __slots__ = ("job_id", "shard_id", "from_piece", "ticket")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    SHARD_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_PIECE_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    shard_id: int
    from_piece: int
    ticket: bytes
    def __init__(self, job_id: _Optional[str] = ..., shard_id: _Optional[int] = ..., from_piece: _Optional[int] = ..., ticket: _Optional[bytes] = ...) -> None: ...

class PieceData(_message.Message):
    __slots__ = ("shard_id", "piece_index", "total_pieces", "data", "crc32c")
    SHARD_ID_FIELD_NUMBER: _ClassVar[int]
    PIECE_INDEX_FIELD_NUMBER: _ClassVar[int]
    TOTAL_PIECES_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    CRC32C_FIELD_NUMBER: _ClassVar[int]
    shard_id: int
    piece_index: int
    total_pieces: int
    data: bytes
    crc32c: int
    def __init__(self, shard_id: _Optional[int] = ..., piece_index: _Optional[int] = ..., total_pieces: _Optional[int] = ..., data: _Optional[bytes] = ..., crc32c: _Optional[int] = ...) -> None: ...
