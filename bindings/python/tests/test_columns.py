"""Columns beside those of DuckDB and Polars for the same JSON Lines: equal, or different for a reason in the table."""

import json
from pathlib import Path

import pytest

import talentdata

pyarrow = pytest.importorskip("pyarrow", reason="told by the test of absent packages")
duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")

BOTH, LATE = ("duckdb", "polars"), "what comes after the sample"

#: Lists of a field `x`: what is sampled, what comes late, and where DuckDB and Polars make another column.
AWKWARD = {
    "mixed types": (["1", '"a"', "true"], [], {"polars": "mixed types"}),
    "a string late among integers": (["1", "2"], ['"n/a"', "3"], dict.fromkeys(BOTH, LATE)),
    "a new member late": (['{"a":1}'], ['{"a":2,"b":3}', '{"a":4}'], dict.fromkeys(BOTH, LATE)),
    "empty arrays": (["[]", "[]"], [], {"polars": "empty arrays"}),
    "nulls only": (["null", "null"], [], dict.fromkeys(BOTH, "nulls only")),
    "nested 33 deep": (["[" * 33 + "1" + "]" * 33], [], dict.fromkeys(BOTH, "nested deeper than 32")),
    "nested 20 deep": (["[" * 20 + "1" + "]" * 20], [], {}),
    "arrays of mixed types": (['[1,"a"]'], [], {"polars": "mixed types"}),
    "objects without members": (["{}", "{}"], [], dict.fromkeys(BOTH, "objects without members")),
    "names that are data": ([f'{{"k{number}":1}}' for number in range(60)], [], dict.fromkeys(BOTH, "names that are data")),
    "integers from 2^63": (["1", str(2**63)], [], dict.fromkeys(BOTH, "integers from 2^63")),
    "integers from 2^64": (["1", str(2**64)], [], dict.fromkeys(BOTH, "integers from 2^64")),
    "2^64 late": (["1", "2"], [str(2**64)], dict.fromkeys(BOTH, LATE)),
    "1e400 late": (["1.5"], ["1e400", "2.5"], dict.fromkeys(BOTH, "1e400")),
    "several time zones": (['"2026-11-22T08:00:00Z"', '"2026-11-22T08:00:00+02:00"'], [], {"polars": "date-times"}),
    "nanoseconds": (['"2026-11-22T08:00:00.123456789Z"'], [], dict.fromkeys(BOTH, "nanoseconds")),
    "a leap second": (['"2016-12-31T23:59:60Z"', '"2016-12-31T23:59:59Z"'], [], dict.fromkeys(BOTH, "a leap second")),
    "the year 0": (['"0000-01-01T00:00:00Z"'], [], {"polars": "date-times"}),
    "the year 10000": (['"10000-01-01T00:00:00Z"', '"2026-11-22T08:00:00Z"'], [], {"duckdb": "the year 10000"}),
    "dates": (['"2026-11-22"', '"2026-11-23"'], [], {"polars": "dates"}),
    "times of day": (['"08:00:00"'], [], {"duckdb": "times of day"}),
    "white space and order": (['{"a":1,"b":[1,2]}'], ['{"b":[1, 2],"a":1}', '{ "a":1}'], {}),
}

#: Where a reader makes another column, and why. The same rows are in docs/columns.md.
DIFFERENCES = {
    ("date-times", "polars"): "strings: it looks for no date-times in JSON",
    ("dates", "polars"): "strings: it looks for no dates in JSON",
    ("a leap second", "duckdb"): "strings: its timestamps have no leap second",
    ("a leap second", "polars"): "strings, as for all date-times",
    ("nanoseconds", "duckdb"): "microseconds: the rest is cut off",
    ("nanoseconds", "polars"): "strings, as for all date-times",
    ("the year 10000", "duckdb"): "timestamps: it reads years beyond those of RFC 3339",
    ("times of day", "duckdb"): "times: RFC 3339 knows no time of day without an offset",
    ("mixed types", "polars"): "strings, so that `1` and `\"1\"` are the same",
    ("integers from 2^63", "duckdb"): "128 bits",
    ("integers from 2^63", "polars"): "128 bits",
    ("integers from 2^64", "duckdb"): "doubles, which lose digits",
    ("integers from 2^64", "polars"): "128 bits",
    ("nulls only", "duckdb"): "a type without values",
    ("nulls only", "polars"): "a type without values",
    ("empty arrays", "polars"): "lists of nulls",
    ("objects without members", "duckdb"): "maps",
    ("objects without members", "polars"): "structs without fields, which Parquet cannot store",
    ("names that are data", "duckdb"): "maps",
    ("names that are data", "polars"): "a struct with a field for each name",
    ("nested deeper than 32", "duckdb"): "lists to any depth",
    ("nested deeper than 32", "polars"): "lists to any depth",
    ("what comes after the sample", "duckdb"): "the file is there as a whole, and no value needs `_extra`",
    ("what comes after the sample", "polars"): "the file is there as a whole, and no value needs `_extra`",
    ("1e400", "duckdb"): "infinity",
    ("1e400", "polars"): "an error: it reads no number that a double cannot hold",
}


def read_duckdb(path: Path) -> pyarrow.Table:
    options = "format = 'newline_delimited', sample_size = -1, maximum_object_size = 100000000"
    return duckdb.sql(f"select * from read_json('{path}', {options})").to_arrow_table()


def read_polars(path: Path) -> pyarrow.Table:
    return polars.read_ndjson(path, infer_schema_length=None).to_arrow()


READERS = {"duckdb": read_duckdb, "polars": read_polars}


def kind(type_: pyarrow.DataType) -> str:
    """A type, without what is only another way to store the same values."""
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
    """The values of a column; instants as numbers, since Python has no year 0."""
    if pyarrow.types.is_timestamp(column.type):
        return column.cast(pyarrow.int64()).to_pylist()
    return column.to_pylist()


def differing(path: Path, ours: pyarrow.Table) -> set[str]:
    """The readers that make the column `x` otherwise, or cannot read the file."""
    found = set()
    for name, read in READERS.items():
        try:
            theirs = read(path)["x"]
        except Exception:
            found.add(name)
            continue
        if kind(theirs.type) != kind(ours["x"].type) or values(theirs) != values(ours["x"]):
            found.add(name)
    return found


def exported(resource: talentdata.Resource, path: Path, **options) -> pyarrow.Table:
    resource.export(path, **options)
    from pyarrow import parquet

    return parquet.read_table(path)


@pytest.fixture(scope="module")
def pools():
    """A list with these values of the field `x`, and its lines."""
    with talentdata.Sandbox(policy="unlimited", faults=True) as sandbox, sandbox.client() as client:

        def serve(texts):
            lines = [f'{{"id":"{number}","x":{text}}}' for number, text in enumerate(texts)]
            pagination = json.dumps({"total": len(lines), "limit": len(lines), "offset": 0, "hasMore": False})
            body = f'{{"pools":[{",".join(lines)}],"pagination":{pagination}}}'
            sandbox.set_faults({"match": {"path": "/v1/pools"}, "reply": {"body": body}})
            return client.pools, lines

        yield serve


@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_lists(case, pools, tmp_path):
    sample, others, different = AWKWARD[case]
    schema = pools(sample)[0].schema()
    resource, lines = pools([*sample, *others])
    table = exported(resource, tmp_path / "list.parquet", schema=schema)
    (tmp_path / "list.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert differing(tmp_path / "list.jsonl", table) == set(different)


def test_each_difference_is_one_that_was_found_and_is_documented():
    assert {(why, reader) for *_, whys in AWKWARD.values() for reader, why in whys.items()} == set(DIFFERENCES)
    manual = Path(__file__).parents[3] / "docs" / "columns.md"
    assert "\n".join(documented()) in manual.read_text(encoding="utf-8")


def documented():
    """The table of the manual."""
    for case in dict.fromkeys(case for case, _ in DIFFERENCES):
        cells = [DIFFERENCES.get((case, reader), "the same") for reader in READERS]
        yield f"| {case} | " + " | ".join(cells) + " |"


def test_a_schema_of_pyarrow_is_pinned(client):
    few = pyarrow.schema([("id", pyarrow.string()), ("createdAt", pyarrow.timestamp("us", "UTC"))])
    scan = client.contacts.list(schema=few, limit=20)
    table = scan.to_arrow()
    assert (table.num_rows, table.column_names) == (20, ["id", "createdAt", "_extra"])
    assert scan.receipt.schema["new_fields"]["/email"]["count"] == 20
    with pytest.raises(talentdata.InvalidArgumentError, match="column n is of type Int32"):
        client.contacts.list(schema=pyarrow.schema([("n", pyarrow.int32())]))
    with pytest.raises(talentdata.InvalidArgumentError, match="schema: this int cannot be used"):
        client.contacts.list(schema=5)
    with pytest.raises(talentdata.SchemaError, match="record 0 of the list: /firstName"):
        client.contacts.list(schema=few, on_new_field="fail").to_arrow()
    frozen = client.contacts.list(schema=few, on_new_field="freeze")
    frozen.to_polars()
    assert frozen.receipt.schema["new_fields"] == {}


def test_a_schema_file_gives_the_same_columns_whatever_comes_first(client, tmp_path):
    path = tmp_path / "contacts.schema.json"
    path.write_text(client.contacts.schema().json, encoding="utf-8")
    whole = client.contacts.list().to_arrow().schema
    assert client.contacts.list(schema=path, limit=1).to_arrow().schema.equals(whole, check_metadata=True)
    with pytest.raises(talentdata.InvalidArgumentError, match="made for contacts"):
        client.pools.list(schema=path).to_arrow()
    with pytest.raises(talentdata.IoError, match="nosuch"):
        client.pools.list(schema=tmp_path / "nosuch")


def test_columns_of_json(client):
    table = client.contacts.list(columns="json").to_arrow()
    assert {kind(field.type) for field in table.schema} <= {"string", "double", "uint64", "int64", "bool"}
    assert json.loads(table["location"][0].as_py())["city"]
    with pytest.raises(talentdata.InvalidArgumentError, match="columns"):
        client.contacts.list(columns="both")


def test_a_limit_stops_the_scan(client):
    scan = client.contacts.list(limit=5)
    assert len(list(scan)) == 5 and scan.receipt.completeness == "limited"
    assert len(client.contacts.page(5)) == 5
    assert client.contacts.list(limit=120).to_arrow().num_rows == 120
    assert len(list(client.contacts.list(limit=0))) == 0
    assert len(list(client.pools.list(limit=100))) == 3
