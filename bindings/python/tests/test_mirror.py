"""Mirrors in Python: syncs by both clients, tables of what changed and of the list as it was, and databases that follow."""

import asyncio
import contextlib
import datetime
import pathlib
import sqlite3

import pandas
import polars
import pyarrow as pa
import pytest
from test_interrupt import CHILD, SLOW, USABLE, interrupt

import talentdata

MANUAL = pathlib.Path(__file__).parents[3] / "docs" / "sync.md"


@pytest.fixture
def service():
    with talentdata.Sandbox(records={"contacts": 300, "pools": 40}, policy="unlimited", faults=True) as sandbox:
        with sandbox.client(paced=False) as client:
            yield sandbox, client


def ids(table):
    return sorted(pa.table(table)["id"].to_pylist())


def test_syncs_changes_and_lists_as_they_were(service, tmp_path):
    sandbox, client = service
    path, then = tmp_path / "mirror.db", []
    for round in (1, 2):
        receipts = client.sync(["contacts", "pools"], path)
        assert [receipt.generation for receipt in receipts] == [round, round]
        then.append(client.contacts.list().to_arrow())
        sandbox.change("contacts", update=30, delete=10, insert=12)
    mirror = talentdata.Mirror(str(path))
    assert sorted(mirror.resources) == ["contacts", "pools"]
    syncs = [sync for sync in mirror.syncs if sync.scan.resource == "contacts"]
    assert [sync.ended for sync in mirror.syncs] == sorted(sync.ended for sync in mirror.syncs)
    for sync, table in zip(syncs, then):
        for at in (sync.generation, sync.ended, sync.ended.isoformat()):
            assert ids(mirror.as_of("contacts", at)) == ids(table)
    current = mirror.current("contacts")
    assert current.to_arrow().sort_by("id").to_pylist() == then[-1].sort_by("id").to_pylist()
    assert len(current.to_pandas()) == len(current.to_polars()) == 302
    changes = polars.DataFrame(mirror.changes("contacts", since=1))
    assert dict(changes["_op"].value_counts().iter_rows()) == {name: count for name, count in syncs[1].changes.items() if count}
    assert str(path) in repr(mirror)


def test_the_views_are_tables_for_everybody(service, tmp_path):
    sandbox, client = service
    client.sync(["contacts"], tmp_path / "mirror.db")
    sandbox.change("contacts", delete=5, update=7)
    client.sync(["contacts"], tmp_path / "mirror.db")
    # The three queries of docs/sync.md.
    queries = [text.split("```")[0] for text in MANUAL.read_text().split("```sql\n")[1:4]]
    with contextlib.closing(sqlite3.connect(tmp_path / "mirror.db")) as connection:
        current, changes, history = (pandas.read_sql(query, connection) for query in queries)
    assert len(current) == 295 and set(current.columns) == {"id", "firstName", "lastName", "email"}
    assert set(zip(changes["_op"], changes["records"])) >= {("delete", 5), ("insert", 300)}
    assert list(history["deleted"]) == [0, 5]


def test_a_sync_has_its_options_and_a_mirror_its_refusals(service, tmp_path):
    sandbox, client = service
    path = tmp_path / "mirror.db"
    for wrong in ({"lists": "pools"}, {"lists": ["people"]}, {"max_deletes": "many"}, {"max_deletes": 1.5}, {"keep": "90"}):
        with pytest.raises(talentdata.InvalidArgumentError):
            client.sync(wrong.pop("lists", ["pools"]), path, **wrong)
    with pytest.raises(talentdata.IoError, match="is not a mirror"):
        talentdata.Mirror(path)
    # All were checked before anything was sent or written.
    assert sandbox.stats()["requests"] == 0 and not [*tmp_path.iterdir()]

    async def first():
        async with sandbox.async_client(paced=False) as client:
            return await client.sync(["pools"], path, progress=False)

    assert asyncio.run(first())[0].changes["insert"] == 40
    sandbox.change("pools", delete=20)
    [receipt] = client.sync(["pools"], path, confirm=True)
    assert receipt.withheld.deletes == receipt.missing == 20
    with pytest.raises(talentdata.IncompleteError, match="20 of the 40 records"):
        receipt.require_proven()
    [receipt] = client.sync(["pools"], path, max_deletes=0.5, keep=datetime.timedelta(microseconds=1))
    assert receipt.changes["delete"] == 20
    mirror = talentdata.Mirror(path)
    for wrong, says in (
        (lambda: mirror.changes("pools", since=0), "no longer kept"),
        (lambda: mirror.as_of("pools", datetime.datetime(2026, 1, 1)), "time zone"),
        (lambda: mirror.current("people"), "people"),
    ):
        with pytest.raises(talentdata.InvalidArgumentError, match=says):
            wrong()
    assert mirror.verify() == [] and mirror.current("pools").to_arrow().num_rows == 20
    mirror.forget("pools")
    assert mirror.resources == []


def test_ctrl_c_leaves_the_mirror_as_it_was(tmp_path):
    file = {"before": "pass", "wait": "client.with_options(paced=False).sync(['contacts'], sys.argv[4])"}
    code, path = CHILD.format(**file, after=USABLE), tmp_path / "mirror.db"
    with talentdata.Sandbox(records={"contacts": 5_000}, policy="unlimited", faults=True) as sandbox:
        sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 20}, "reply": SLOW})
        said, out, err = interrupt(code, sandbox, str(path))
        assert (said, out) == ("interrupted\n", "1.8.2\n"), err
        # There is no mirror that knows no lists.
        assert not path.exists()
        with sandbox.client(paced=False) as client:
            [receipt] = client.sync(["contacts"], path)
    assert receipt.generation == 1
