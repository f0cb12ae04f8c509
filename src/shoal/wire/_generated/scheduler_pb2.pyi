from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Empty(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ServerStatus(_message.Message):
    __slots__ = ("server_address", "job_id", "shards_owned", "server_id", "inventory_epoch", "labels", "free_bytes", "running_task_ids")
    SERVER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    SHARDS_OWNED_FIELD_NUMBER: _ClassVar[int]
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    INVENTORY_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    RUNNING_TASK_IDS_FIELD_NUMBER: _ClassVar[int]
    server_address: str
    job_id: str
    shards_owned: bytes
    server_id: str
    inventory_epoch: int
    labels: _containers.RepeatedScalarFieldContainer[str]
    free_bytes: int
    running_task_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, server_address: _Optional[str] = ..., job_id: _Optional[str] = ..., shards_owned: _Optional[bytes] = ..., server_id: _Optional[str] = ..., inventory_epoch: _Optional[int] = ..., labels: _Optional[_Iterable[str]] = ..., free_bytes: _Optional[int] = ..., running_task_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class TransferTask(_message.Message):
    __slots__ = ("source_type", "job_id", "shard_id", "upstream_server_addr", "gcs_path", "task_id", "attempt", "ticket", "action")
    class SourceType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PEER: _ClassVar[TransferTask.SourceType]
        GCS: _ClassVar[TransferTask.SourceType]
    PEER: TransferTask.SourceType
    GCS: TransferTask.SourceType
    class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        TRANSFER: _ClassVar[TransferTask.Action]
        LOOK: _ClassVar[TransferTask.Action]
    TRANSFER: TransferTask.Action
    LOOK: TransferTask.Action
    SOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    SHARD_ID_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_SERVER_ADDR_FIELD_NUMBER: _ClassVar[int]
    GCS_PATH_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    source_type: TransferTask.SourceType
    job_id: str
    shard_id: int
    upstream_server_addr: str
    gcs_path: str
    task_id: str
    attempt: int
    ticket: bytes
    action: TransferTask.Action
    def __init__(self, source_type: _Optional[_Union[TransferTask.SourceType, str]] = ..., job_id: _Optional[str] = ..., shard_id: _Optional[int] = ..., upstream_server_addr: _Optional[str] = ..., gcs_path: _Optional[str] = ..., task_id: _Optional[str] = ..., attempt: _Optional[int] = ..., ticket: _Optional[bytes] = ..., action: _Optional[_Union[TransferTask.Action, str]] = ...) -> None: ...

class TransferTaskComplete(_message.Message):
    __slots__ = ("server_address", "job_id", "shard_id", "task_id", "outcome", "message", "bytes_received", "server_id")
    class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SUCCEEDED: _ClassVar[TransferTaskComplete.Outcome]
        UNREACHABLE: _ClassVar[TransferTaskComplete.Outcome]
        STALLED: _ClassVar[TransferTaskComplete.Outcome]
        CORRUPT: _ClassVar[TransferTaskComplete.Outcome]
        REFUSED: _ClassVar[TransferTaskComplete.Outcome]
        NO_ROOM: _ClassVar[TransferTaskComplete.Outcome]
        ABANDONED: _ClassVar[TransferTaskComplete.Outcome]
    SUCCEEDED: TransferTaskComplete.Outcome
    UNREACHABLE: TransferTaskComplete.Outcome
    STALLED: TransferTaskComplete.Outcome
    CORRUPT: TransferTaskComplete.Outcome
    REFUSED: TransferTaskComplete.Outcome
    NO_ROOM: TransferTaskComplete.Outcome
    ABANDONED: TransferTaskComplete.Outcome
    SERVER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    SHARD_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    BYTES_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    server_address: str
    job_id: str
    shard_id: int
    task_id: str
    outcome: TransferTaskComplete.Outcome
    message: str
    bytes_received: int
    server_id: str
    def __init__(self, server_address: _Optional[str] = ..., job_id: _Optional[str] = ..., shard_id: _Optional[int] = ..., task_id: _Optional[str] = ..., outcome: _Optional[_Union[TransferTaskComplete.Outcome, str]] = ..., message: _Optional[str] = ..., bytes_received: _Optional[int] = ..., server_id: _Optional[str] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("server_address", "server_id", "downloads", "uploads", "leaving", "status")
    SERVER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    DOWNLOADS_FIELD_NUMBER: _ClassVar[int]
    UPLOADS_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    server_address: str
    server_id: str
    downloads: _containers.RepeatedCompositeFieldContainer[TransferProgress]
    uploads: _containers.RepeatedCompositeFieldContainer[TransferProgress]
    leaving: bool
    status: ServerStatus
    def __init__(self, server_address: _Optional[str] = ..., server_id: _Optional[str] = ..., downloads: _Optional[_Iterable[_Union[TransferProgress, _Mapping]]] = ..., uploads: _Optional[_Iterable[_Union[TransferProgress, _Mapping]]] = ..., leaving: _Optional[bool] = ..., status: _Optional[_Union[ServerStatus, _Mapping]] = ...) -> None: ...

class TransferProgress(_message.Message):
    __slots__ = ("task_id", "bytes", "job_id", "shard_id", "upstream_server_addr")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    SHARD_ID_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_SERVER_ADDR_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    bytes: int
    job_id: str
    shard_id: int
    upstream_server_addr: str
    def __init__(self, task_id: _Optional[str] = ..., bytes: _Optional[int] = ..., job_id: _Optional[str] = ..., shard_id: _Optional[int] = ..., upstream_server_addr: _Optional[str] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("active_job_id", "coordinator_epoch", "cancelled_task_ids", "ticket_key", "tell_status")
    ACTIVE_JOB_ID_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_TASK_IDS_FIELD_NUMBER: _ClassVar[int]
    TICKET_KEY_FIELD_NUMBER: _ClassVar[int]
    TELL_STATUS_FIELD_NUMBER: _ClassVar[int]
    active_job_id: str
    coordinator_epoch: str
    cancelled_task_ids: _containers.RepeatedScalarFieldContainer[str]
    ticket_key: bytes
    tell_status: bool
    def __init__(self, active_job_id: _Optional[str] = ..., coordinator_epoch: _Optional[str] = ..., cancelled_task_ids: _Optional[_Iterable[str]] = ..., ticket_key: _Optional[bytes] = ..., tell_status: _Optional[bool] = ...) -> None: ...

class ManifestRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class Manifest(_message.Message):
    __slots__ = ("job_id", "data_set_id", "body")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    DATA_SET_ID_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    data_set_id: str
    body: bytes
    def __init__(self, job_id: _Optional[str] = ..., data_set_id: _Optional[str] = ..., body: _Optional[bytes] = ...) -> None: ...
