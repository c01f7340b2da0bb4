"""Columns beside those of DuckDB and Polars for the same JSON Lines: equal, or different for a reason in the table."""

import json
from datetime import date, datetime
from pathlib import Path

import pytest
from rebuild import fields, records

import talentdata

pyarrow = pytest.importorskip("pyarrow", reason="told by the test of absent packages")
duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")

LISTS = [
    *("contacts", "vacancies", "pools", "ja_skills", "ja_roles", "ja_tasks", "ja_departments"),
    *("taxonomy_skills", "taxonomy_roles"),
]

#: Lists of a field `x` that are hard to make a column of: what is sampled, and what comes late.
AWKWARD = {
    "mixed types": (["1", '"a"', "true"], []),
    "a string late among integers": (["1", "2"], ['"n/a"', "3"]),
    "a new member late": (['{"a":1}'], ['{"a":2,"b":3}', '{"a":4}']),
    "empty arrays": (["[]", "[]"], []),
    "nulls only": (["null", "null"], []),
    "nested 33 deep": (["[" * 33 + "1" + "]" * 33], []),
    "nested 20 deep": (["[" * 20 + "1" + "]" * 20], []),
    "arrays of mixed types": (['[1,"a"]'], []),
    "objects without members": (["{}", "{}"], []),
    "names that are data": ([f'{{"k{number}":1}}' for number in range(60)], []),
    "integers from 2^63": (["1", str(2**63)], []),
    "integers from 2^64": (["1", str(2**64)], []),
    "2^64 late": (["1", "2"], [str(2**64)]),
    "1e400 late": (["1.5"], ["1e400", "2.5"]),
    "several time zones": (['"2026-11-22T08:00:00Z"', '"2026-11-22T08:00:00+02:00"'], []),
    "nanoseconds": (['"2026-11-22T08:00:00.123456789Z"'], []),
    "a leap second": (['"2016-12-31T23:59:60Z"', '"2016-12-31T23:59:59Z"'], []),
    "the year 0": (['"0000-01-01T00:00:00Z"'], []),
    "the year 10000": (['"10000-01-01T00:00:00Z"', '"2026-11-22T08:00:00Z"'], []),
    "dates": (['"2026-11-22"', '"2026-11-23"'], []),
    "times of day": (['"08:00:00"'], []),
    "white space and order": (['{"a":1,"b":[1,2]}'], ['{"b":[1, 2],"a":1}', '{ "a":1}']),
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

ERROR = "it cannot read the list"


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


def compared(path: Path, ours: pyarrow.Table) -> dict[tuple[str, str], tuple[str, str, list, list]]:
    """The columns that a reader makes otherwise: both types, and both columns of values."""
    found = {}
    for name, read in READERS.items():
        try:
            theirs = read(path)
        except Exception:
            found[ERROR, name] = ("", "", [], [])
            continue
        assert theirs.num_rows == ours.num_rows
        for column in theirs.column_names:
            if column not in ours.column_names:
                found[column, name] = ("", kind(theirs[column].type), [], values(theirs[column]))
                continue
            both = ours[column], theirs[column]
            types, contents = [kind(one.type) for one in both], [values(one) for one in both]
            if types[0] != types[1] or contents[0] != contents[1]:
                found[column, name] = (*types, *contents)
        assert set(ours.column_names) - set(theirs.column_names) <= {"_extra"}
    return found


def exported(resource: talentdata.Resource, path: Path, **options) -> pyarrow.Table:
    resource.export(path, **options)
    from pyarrow import parquet

    return parquet.read_table(path)


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def spoken(value: object) -> object:
    """A value with date-times and dates as the service writes them."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, date):
        return str(value)
    if isinstance(value, list):
        return [spoken(item) for item in value]
    return {name: spoken(item) for name, item in value.items()} if isinstance(value, dict) else value


def reason(types, contents, ours, noted) -> str | None:
    """Why a column of a list of the sandbox differs; what makes the values equal is checked on the way."""
    mine, theirs = types
    if mine == "" or noted:
        return "what comes after the sample"
    if contents[0] == contents[1]:
        return {"uint64": "integers from 2^63"}.get(mine, "nulls only" if "null" in theirs else None)
    if "timestamp" in mine and "string" in theirs and spoken(ours.to_pylist()) == contents[1]:
        return "date-times"
    if mine == "date32[day]" and theirs == "string" and spoken(ours.to_pylist()) == contents[1]:
        return "dates"
    return None


def late(table: pyarrow.Table) -> set[str]:
    """The fields that `_extra` has something of."""
    return {name for text in table["_extra"].to_pylist() if text for name in json.loads(text)}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_the_sandbox(name, tmp_path):
    with talentdata.Sandbox(policy="unlimited") as sandbox, sandbox.client() as client:
        resource = getattr(client, name)
        lines = [record.json for record in resource.list()]
        table = exported(resource, tmp_path / "list.parquet")
    assert list(records(table)) == [fields(line) for line in lines]
    found = compared(write(tmp_path / "list.jsonl", lines), table)
    for (column, reader), (*types, mine, theirs) in found.items():
        ours = table[column] if column in table.column_names else None
        # Numbers stand in `_extra` for their spelling too, and their values are compared.
        noted = column in late(table) and types[0] != "double"
        why = reason(types, (mine, theirs), ours, noted)
        assert (why, reader) in DIFFERENCES, (column, reader, types)


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


#: What differs for each awkward list, by reader.
EXPECTED = {
    "mixed types": {"polars": "mixed types"},
    "a string late among integers": {"duckdb": "what comes after the sample", "polars": "what comes after the sample"},
    "a new member late": {"duckdb": "what comes after the sample", "polars": "what comes after the sample"},
    "empty arrays": {"polars": "empty arrays"},
    "nulls only": {"duckdb": "nulls only", "polars": "nulls only"},
    "nested 33 deep": {"duckdb": "nested deeper than 32", "polars": "nested deeper than 32"},
    "arrays of mixed types": {"polars": "mixed types"},
    "objects without members": {"duckdb": "objects without members", "polars": "objects without members"},
    "names that are data": {"duckdb": "names that are data", "polars": "names that are data"},
    "integers from 2^63": {"duckdb": "integers from 2^63", "polars": "integers from 2^63"},
    "integers from 2^64": {"duckdb": "integers from 2^64", "polars": "integers from 2^64"},
    "2^64 late": {"duckdb": "what comes after the sample", "polars": "what comes after the sample"},
    "1e400 late": {"duckdb": "1e400", "polars": "1e400"},
    "several time zones": {"polars": "date-times"},
    "nanoseconds": {"duckdb": "nanoseconds", "polars": "nanoseconds"},
    "a leap second": {"duckdb": "a leap second", "polars": "a leap second"},
    "the year 0": {"polars": "date-times"},
    "the year 10000": {"duckdb": "the year 10000"},
    "dates": {"polars": "dates"},
    "times of day": {"duckdb": "times of day"},
}


@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_lists(case, pools, tmp_path):
    sample, others = AWKWARD[case]
    resource, _ = pools(sample)
    schema = resource.schema()
    resource, lines = pools([*sample, *others])
    table = exported(resource, tmp_path / "list.parquet", schema=schema)
    assert list(records(table)) == [fields(line) for line in lines]
    found = compared(write(tmp_path / "list.jsonl", lines), table)
    assert {reader for _, reader in found} == set(EXPECTED.get(case, {})), found
    assert all((why, reader) in DIFFERENCES for reader, why in EXPECTED.get(case, {}).items())


def test_each_difference_is_one_that_was_found_and_is_documented():
    expected = {(why, reader) for whys in EXPECTED.values() for reader, why in whys.items()}
    assert expected == set(DIFFERENCES)
    manual = Path(__file__).parents[3] / "docs" / "columns.md"
    assert "\n".join(documented()) in manual.read_text(encoding="utf-8")


def documented():
    """The table of the manual."""
    for case in dict.fromkeys(case for case, _ in DIFFERENCES):
        cells = [DIFFERENCES.get((case, reader), "the same") for reader in READERS]
        yield f"| {case} | " + " | ".join(cells) + " |"


def test_a_service_that_pretty_prints_has_the_same_columns(pools, tmp_path):
    texts = ['{"a":[{"b":1,"c":"x y"},null],"d":{"e":[]}}', '{"a":[]}', "null"]
    plain = exported(pools(texts)[0], tmp_path / "plain.parquet")
    for indent, name in ((2, "indented"), (None, "spaced")):
        printed = [json.dumps(json.loads(text), indent=indent) for text in texts]
        resource, lines = pools(printed)
        table = exported(resource, tmp_path / f"{name}.parquet")
        assert table["x"].equals(plain["x"]) and plain["x"].null_count == 1
        assert kind(table.schema.field("x").type).startswith("struct[a: list")
        # The text stands beside it, so that the record comes back byte for byte.
        assert late(table) == {"x"} and late(plain) == set()
        assert list(records(table)) == [fields(line) for line in lines]


def test_json_text_is_a_plain_string(pools):
    resource, _ = pools(['{"a":1}', '"b"'])
    frame = resource.list().to_polars()
    assert frame.schema["x"] == polars.String == frame.schema["_extra"]
    assert frame["x"].str.json_path_match("$.a").to_list() == ["1", None]
    assert "x" in frame.write_csv()
    rows = resource.list().to_arrow()  # noqa: F841
    assert duckdb.sql("select x->>'a' from rows").fetchall() == [("1",), (None,)]


def test_a_schema_of_pyarrow_is_pinned(client):
    few = pyarrow.schema([("id", pyarrow.string()), ("createdAt", pyarrow.timestamp("us", "UTC"))])
    scan = client.contacts.list(schema=few, limit=20)
    table = scan.to_arrow()
    assert (table.num_rows, table.column_names) == (20, ["id", "createdAt", "_extra"])
    assert scan.receipt.schema["new_fields"]["/email"]["count"] == 20
    with pytest.raises(talentdata.InvalidArgumentError, match="column n is of type Int32"):
        client.contacts.list(schema=pyarrow.schema([("n", pyarrow.int32())]))
    with pytest.raises(talentdata.InvalidArgumentError, match="this int cannot be used"):
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
