"""Compares our columns with those of DuckDB and Polars for the same JSON Lines. docs/columns.md lists all differences."""

import json
from pathlib import Path

import duckdb
import polars
import pyarrow
import pytest
from pyarrow import parquet

import talentdata

#: Values of a field `x`: in the sample, after it, and the row of the manual for readers that differ.
AWKWARD = {
    "mixed types": (["1", '"a"', "true"], [], "mixed types"),
    "a string late among integers": (["1", "2"], ['"n/a"', "3"], "what comes after the sample"),
    "a new member late": (['{"a":1}'], ['{"a":2,"b":3}', '{"a":4}'], "what comes after the sample"),
    "empty arrays": (["[]", "[]"], [], "empty arrays"),
    "nulls only": (["null", "null"], [], "nulls only"),
    "nested 33 deep": (["[" * 33 + "1" + "]" * 33], [], "nested deeper than 32"),
    "nested 20 deep": (["[" * 20 + "1" + "]" * 20], [], None),
    "arrays of mixed types": (['[1,"a"]'], [], "mixed types"),
    "objects without members": (["{}", "{}"], [], "objects without members"),
    "names that are data": ([f'{{"k{number}":1}}' for number in range(60)], [], "names that are data"),
    "integers from 2^63": (["1", str(2**63)], [], "integers from 2^63"),
    "integers from 2^64": (["1", str(2**64)], [], "integers from 2^64"),
    "2^64 late": (["1", "2"], [str(2**64)], "what comes after the sample"),
    "1e400 late": (["1.5"], ["1e400", "2.5"], "1e400"),
    "several time zones": (['"2026-11-22T08:00:00Z"', '"2026-11-22T08:00:00+02:00"'], [], "date-times"),
    "nanoseconds": (['"2026-11-22T08:00:00.123456789Z"'], [], "nanoseconds"),
    "a leap second": (['"2016-12-31T23:59:60Z"', '"2016-12-31T23:59:59Z"'], [], "a leap second"),
    "the year 0": (['"0000-01-01T00:00:00Z"'], [], "date-times"),
    "the year 10000": (['"10000-01-01T00:00:00Z"', '"2026-11-22T08:00:00Z"'], [], "the year 10000"),
    "dates": (['"2026-11-22"', '"2026-11-23"'], [], "dates"),
    "times of day": (['"08:00:00"'], [], "times of day"),
    "white space and order": (['{"a":1,"b":[1,2]}'], ['{"b":[1, 2],"a":1}', '{ "a":1}'], None),
}


def documented():
    """Returns, for each case of the manual, the readers (DuckDB, Polars) that infer another column."""
    manual = (Path(__file__).parents[3] / "docs" / "columns.md").read_text(encoding="utf-8")
    _, table = manual.split("| case | DuckDB | Polars |\n|---|---|---|\n")
    rows = [line.strip("| ").split(" | ") for line in table.split("\n\n")[0].splitlines()]
    return {
        case: {name for name, cell in zip(READERS, cells, strict=True) if cell != "the same"} for case, *cells in rows
    }


def read_duckdb(path: Path) -> pyarrow.Table:
    options = "format = 'newline_delimited', sample_size = -1, maximum_object_size = 100000000"
    return duckdb.sql(f"select * from read_json('{path}', {options})").to_arrow_table()


READERS = {"duckdb": read_duckdb, "polars": lambda path: polars.read_ndjson(path, infer_schema_length=None).to_arrow()}


def kind(type_: pyarrow.DataType) -> str:
    """Returns the name of a type. Types that only store the same values differently have the same name."""
    if pyarrow.types.is_timestamp(type_):
        return f"timestamp[{type_.unit}]"
    if pyarrow.types.is_string(type_) or pyarrow.types.is_large_string(type_) or pyarrow.types.is_string_view(type_):
        return "string"
    if pyarrow.types.is_list(type_) or pyarrow.types.is_large_list(type_):
        return f"list[{kind(type_.value_type)}]"
    if pyarrow.types.is_struct(type_):
        return "struct[" + ", ".join(f"{field.name}: {kind(field.type)}" for field in type_) + "]"
    return str(type_)


def values(column: pyarrow.ChunkedArray) -> list[object]:
    """Returns the values of a column, with instants as numbers, because Python has no year 0."""
    return (column.cast(pyarrow.int64()) if pyarrow.types.is_timestamp(column.type) else column).to_pylist()


def differs(read, path: Path, ours: pyarrow.ChunkedArray) -> bool:
    """Returns whether a reader makes another column `x`, or cannot read the file."""
    try:
        theirs = read(path)["x"]
    except Exception:
        return True
    return kind(theirs.type) != kind(ours.type) or values(theirs) != values(ours)


@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_lists(case, client, sandbox, tmp_path):
    def serve(texts):
        lines = [f'{{"id":"{number}","x":{text}}}' for number, text in enumerate(texts)]
        pagination = json.dumps({"total": len(lines), "limit": len(lines), "offset": 0, "hasMore": False})
        body = f'{{"pools":[{",".join(lines)}],"pagination":{pagination}}}'
        sandbox.set_faults({"match": {"path": "/v1/pools"}, "reply": {"body": body}})
        return lines

    sample, late, row = AWKWARD[case]
    serve(sample)
    schema = client.pools.schema()
    path = tmp_path / "list.jsonl"
    path.write_text("".join(f"{line}\n" for line in serve([*sample, *late])), encoding="utf-8")
    client.pools.export(tmp_path / "list.parquet", schema=schema)
    ours = parquet.read_table(tmp_path / "list.parquet")["x"]
    assert {name for name, read in READERS.items() if differs(read, path, ours)} == documented().get(row, set())


def test_every_documented_difference_has_a_case():
    assert set(documented()) == {row for *_, row in AWKWARD.values() if row}


def test_a_schema_of_pyarrow_or_of_a_file_is_pinned(client, tmp_path):
    few = pyarrow.schema([("id", pyarrow.string()), ("createdAt", pyarrow.timestamp("us", "UTC"))])
    scan = client.contacts.list(schema=few, limit=20)
    table = scan.to_arrow()
    assert (table.num_rows, table.column_names) == (20, ["id", "createdAt", "_extra"])
    assert scan.receipt.schema["new_fields"]["/email"]["count"] == 20
    with pytest.raises(talentdata.SchemaError, match=r"record 0 of the list \(id \w+\): /firstName"):
        client.contacts.list(schema=few, on_new_field="fail").to_arrow()
    path = tmp_path / "contacts.schema.json"
    path.write_text(client.contacts.schema().json, encoding="utf-8")
    whole = client.contacts.list().to_arrow().schema
    assert client.contacts.list(schema=path, limit=1).to_arrow().schema.equals(whole, check_metadata=True)
    with pytest.raises(talentdata.PathError, match="nosuch"):
        client.pools.list(schema=tmp_path / "nosuch")


def test_columns_of_json_and_a_limit(client):
    table = client.contacts.list(columns="json", limit=120).to_arrow()
    assert table.num_rows == 120 and json.loads(table["location"][0].as_py())["city"]
    assert [len(list(client.pools.list(limit=limit))) for limit in (0, 2, 100)] == [0, 2, 3]
