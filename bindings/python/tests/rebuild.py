"""Records rebuilt from the rows of a table, by the rules in docs/columns.md and nothing else."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

import pyarrow


#: The fields of a record with the JSON text of their values, sorted by name; those of the same name in their order.
Fields = list[tuple[str, str]]


def fields(text: str) -> Fields:
    """The fields of the text of a record, strings as `json.dumps` spells them."""
    return by_name(members(text))


def records(table: pyarrow.Table) -> Iterator[Fields]:
    """The fields of each record that the rows were made of."""
    columns = {field.name: (field, texts(array(table[field.name]), field)) for field in table.schema}
    _, extras = columns.pop("_extra")
    for row, extra in enumerate(extras):
        found = members(extra or "{}")
        absent = json.loads(found.pop(0)[1]) if found and found[0][0] == "_absent" else []
        elsewhere = {*absent, *(name for name, _ in found)}
        for name, (field, values) in columns.items():
            if name not in elsewhere and (values[row] is not None or is_null(field)):
                found.append((name, values[row] or "null"))
        yield by_name(found)


def by_name(found: Fields) -> Fields:
    return sorted(found, key=lambda member: member[0])


def members(text: str) -> Fields:
    """The members of a JSON object with the text of their values, in their order."""
    return [(name, spelt(value)) for name, value in decoder().decode(text)]


class Number(str):
    """A number by its text."""


class Members(list):
    """The members of an object."""


def decoder() -> json.JSONDecoder:
    """Reads JSON with every digit, and with names that come twice."""
    return json.JSONDecoder(parse_float=Number, parse_int=Number, object_pairs_hook=Members)


def spelt(value: object) -> str:
    """The JSON text of a value that `decoder` has read, without white space."""
    if isinstance(value, Number):
        return decimal(value)
    if isinstance(value, Members):
        return "{" + ",".join(f"{json.dumps(name)}:{spelt(item)}" for name, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spelt, value)) + "]"
    return json.dumps(value)


def array(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    return pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)


def metadata(field: pyarrow.Field, key: str) -> str | None:
    value = (field.metadata or {}).get(key.encode())
    return value and value.decode()


def is_null(field: pyarrow.Field) -> bool:
    return metadata(field, "talentdata:empty") == "null"


def texts(values: pyarrow.Array, field: pyarrow.Field) -> list[str | None]:
    """The JSON text of each value of a column."""
    kind = field.type
    if pyarrow.types.is_timestamp(kind):
        return [None if at is None else instant(at, field) for at in values.cast(pyarrow.int64()).to_pylist()]
    if pyarrow.types.is_date(kind):
        return [None if day is None else json.dumps(calendar(day)) for day in values.cast(pyarrow.int32()).to_pylist()]
    if pyarrow.types.is_list(kind):
        items = texts(values.values, kind.value_field)
        ends = values.offsets.to_pylist()
        bounds = zip(ends, ends[1:], strict=False)
        lists = ("[" + ",".join(item or "null" for item in items[begin:end]) + "]" for begin, end in bounds)
        valid = values.is_valid().to_pylist()
        return [text if there else None for text, there in zip(lists, valid, strict=True)]
    if pyarrow.types.is_struct(kind):
        columns = [(part, texts(values.field(at), part)) for at, part in enumerate(kind)]
        return [
            "{" + ",".join(member(part, cells[row]) for part, cells in columns if cells[row] or is_null(part)) + "}"
            if there
            else None
            for row, there in enumerate(values.is_valid().to_pylist())
        ]
    if metadata(field, "talentdata:content") == "json":
        return [None if text is None else spelt(decoder().decode(text)) for text in values.to_pylist()]
    return [None if value is None else plain(value) for value in values.to_pylist()]


def member(field: pyarrow.Field, text: str | None) -> str:
    return f"{json.dumps(field.name)}:{text or 'null'}"


def plain(value: object) -> str:
    """The JSON text of a value that Python has a type for."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return decimal(repr(value)) if is_number else json.dumps(value)


def decimal(text: str) -> str:
    """A number by its value, however it is spelled; a fraction of up to 17 digits as the double that it reads as."""
    double, given = float(text), Decimal(text)
    length = len("".join(map(str, given.as_tuple().digits)).strip("0"))
    is_normal = math.isfinite(double) and abs(double) >= sys.float_info.min
    if is_normal and length <= 17 and not text.lstrip("-").isdigit():
        given = Decimal(repr(double))
    sign, digits, exponent = given.as_tuple()
    whole = "".join(map(str, digits)).lstrip("0")
    short = whole.rstrip("0")
    return f"{'-' * sign}{short}e{exponent + len(whole) - len(short)}" if short else "0"


def calendar(days: int) -> str:
    # The calendar of Python begins with the year 1; 400 years have 146,097 days.
    early = days < -719_162
    day = date(1970, 1, 1) + timedelta(days=days + 146_097 * early)
    return f"{day.year - 400 * early:04}-{day.month:02}-{day.day:02}"


def instant(at: int, field: pyarrow.Field) -> str:
    """The text of a timestamp, with the offset and the digits that the service uses."""
    nanos = at * (1000 if field.type.unit == "us" else 1)
    offset = metadata(field, "talentdata:offset")
    digits = int(metadata(field, "talentdata:fraction"))
    if offset not in ("Z", "z"):
        minutes = int(offset[1:3]) * 60 + int(offset[4:6])
        nanos += (-minutes if offset[0] == "-" else minutes) * 60_000_000_000
    seconds, nanos = divmod(nanos, 1_000_000_000)
    days, second = divmod(seconds, 86_400)
    fraction = f".{nanos:09}"[: digits + 1] if digits else ""
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return json.dumps(f"{calendar(days)}T{clock}{fraction}{offset}")
