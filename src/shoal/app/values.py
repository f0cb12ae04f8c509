"""Values on their way between Python and JSON.

Types are those msgspec knows, and pydantic's models wherever they stand in them. A model is known by its
methods: pydantic is not needed, and not imported, by who does not use it.
"""

from typing import Any

import msgspec

BYTES = (bytes, bytearray, memoryview)


def converted(value: object, into: Any) -> Any:
    """JSON values as a type; ``msgspec.ValidationError`` says what does not fit."""
    return msgspec.convert(value, into, dec_hook=_model_of)


def as_json_values(value: object) -> Any:
    """What JSON makes of a value: ``TypeError`` when it makes nothing of it, as of bytes."""
    values = msgspec.to_builtins(value, builtin_types=BYTES, enc_hook=_values_of_model)
    if _holds_bytes(values):
        raise TypeError("bytes are no JSON; they are kept as artifacts")
    return values


def as_json(value: object) -> bytes:
    return msgspec.json.encode(as_json_values(value))


def schema_of(wanted: Any) -> dict[str, Any]:
    """The JSON schema of a type; ``TypeError`` when it is none that JSON values can become."""
    definitions: dict[str, Any] = {}

    def schema_of_model(model: Any) -> dict[str, Any]:
        if not _is_model(model):
            raise TypeError(f"{model} is neither a type msgspec knows nor a pydantic model")
        schema: dict[str, Any] = model.model_json_schema()
        definitions.update(schema.pop("$defs", {}))  # they are referred to from the root
        return schema

    schema = msgspec.json.schema(wanted, schema_hook=schema_of_model)
    if definitions:
        schema["$defs"] = {**definitions, **schema.get("$defs", {})}
    return schema


def _holds_bytes(values: object) -> bool:
    """Also deep inside. Left to itself, msgspec would write them as base64."""
    if isinstance(values, dict):
        return any(map(_holds_bytes, values)) or any(map(_holds_bytes, values.values()))
    if isinstance(values, list | tuple | set | frozenset):
        return any(map(_holds_bytes, values))
    return isinstance(values, BYTES)


def _is_model(kind: Any) -> bool:
    return hasattr(kind, "model_validate_json")


def _model_of(kind: Any, value: object) -> Any:
    if not _is_model(kind):
        raise TypeError(f"{kind} is no type that JSON values can become")
    try:
        return kind.model_validate_json(msgspec.json.encode(value))
    except ValueError as error:
        raise ValueError(_in_words(error)) from error


def _values_of_model(model: Any) -> Any:
    if not _is_model(type(model)):
        raise TypeError(f"Encoding objects of type {type(model).__name__} is unsupported")
    return model.model_dump(mode="json", by_alias=True)


def _in_words(error: Any) -> str:
    """In a line, as msgspec would say it, and without the link to pydantic's pages."""
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{one['msg']} - at `{'.'.join(map(str, one['loc'])) or '$'}`" for one in wrong)
