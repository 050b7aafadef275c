"""Owns the shape of what is stored: models to DynamoDB items and back, times to text, numbers to decimals."""

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer

from wellspring import timestamps

Item = dict[str, Any]

_serialize = TypeSerializer().serialize
_deserialize = TypeDeserializer().deserialize


def encode(fields: Mapping[str, object]) -> Item:
    """Return the item of these fields; what is None or an empty map or list is left out."""
    return {name: value(found) for name, found in fields.items() if not _nothing(found)}


def value(found: object) -> Any:
    """Return one value as DynamoDB takes it."""
    return _serialize(_storable(found))


def decode(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain Python values of an item; times stay text."""
    return {name: _plain(_deserialize(found)) for name, found in item.items()}


def names(*expressions: str) -> dict[str, str]:
    """Return the attribute names of expressions in which each one is written as #name.

    Every name is written so: DynamoDB reserves hundreds of words, `cursor` and `token` among them.
    """
    return {found: found[1:] for text in expressions for found in re.findall(r"#\w+", text)}


def _nothing(found: object) -> bool:
    return found is None or (isinstance(found, Mapping | list | tuple) and not found)


def _storable(found: object) -> Any:
    match found:
        case datetime():
            return timestamps.to_text(found)
        case bool() | bytes() | int():
            return found
        case float():
            return Decimal(str(found))
        case str():
            return str(found)
        case Mapping():
            return {str(k): _storable(v) for k, v in found.items() if not _nothing(v)}
        case list() | tuple():
            return [_storable(v) for v in found]
    raise TypeError(f"cannot store {type(found).__name__}")


def _plain(found: Any) -> Any:
    match found:
        case Decimal():
            return int(found) if found == found.to_integral_value() else float(found)
        case Binary():
            return bytes(found.value)  # type: ignore[attr-defined]
        case Mapping():
            return {k: _plain(v) for k, v in found.items()}
        case list() | set():
            return [_plain(v) for v in found]
    return found
