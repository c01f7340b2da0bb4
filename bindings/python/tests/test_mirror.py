"""Mirrors in Python: syncs by both clients, tables of changes and of earlier states, and direct SQL queries."""

import contextlib
import datetime
import json
import os
import pathlib
import sqlite3
import tempfile

import pandas
import polars
import pyarrow
import pytest

import talentdata

MANUAL = pathlib.Path(__file__).parents[3] / "docs" / "sync.md"


def ids(table):
    return sorted(pyarrow.table(table)["id"].to_pylist())


def test_syncs_changes_and_earlier_states(sandbox, client, tmp_path):
    path, then = tmp_path / "mirror.db", []
    for number in (1, 2):
        receipts = client.sync(["contacts", "pools"], path)
        assert [(one.generation, one.scan.completeness) for one in receipts] == [(number, "proven")] * 2
        then.append(client.contacts.list().to_arrow())
        if number == 1:
            sandbox.change("contacts", update=30, delete=10, insert=12)
    mirror = talentdata.Mirror(str(path))
    assert sorted(mirror.resources) == ["contacts", "pools"] and str(path) in repr(mirror)
    syncs = [sync for sync in mirror.syncs if sync.scan.resource == "contacts"]
    assert [(sync.generation, sync.scan.records) for sync in syncs] == [(1, 450), (2, 452)]
    for sync, table in zip(syncs, then):
        for moment in (sync.generation, sync.bookmark, sync.ended, sync.ended.isoformat()):
            assert ids(mirror.as_of("contacts", moment)) == ids(table)
    current = mirror.current("contacts")
    now = current.to_arrow().drop_columns(["_missing_since"])
    assert now.sort_by("id").to_pylist() == then[-1].sort_by("id").to_pylist()
    assert len(current.to_pandas()) == len(current.to_polars()) == 452
    for since in (1, syncs[0].bookmark, syncs[0].ended):
        rows = mirror.changes("contacts", since=since)
        assert rows.bookmark == syncs[1].bookmark
        assert rows.to_arrow().schema.metadata[b"talentdata.bookmark"].decode() == rows.bookmark
    assert mirror.as_of("contacts", 1).bookmark == syncs[0].bookmark
    changes = polars.DataFrame(mirror.changes("contacts", since=1, before=True))
    is_update = changes["_op"] == "update"
    assert (changes["_before"].is_not_null() == is_update).all() and is_update.any()
    told = dict(changes["_op"].value_counts().iter_rows())
    assert told == {name: count for name, count in syncs[1].changes.items() if count}
    # The three queries of docs/sync.md.
    queries = [text.split("```")[0] for text in MANUAL.read_text().split("```sql\n")[1:4]]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        current, changes, history = (pandas.read_sql(query, connection) for query in queries)
    assert len(current) == 452 and set(current.columns) == {"id", "firstName", "lastName", "email"}
    assert set(zip(changes["_op"], changes["records"])) >= {("delete", 10), ("insert", 450)}
    assert list(history["deleted"]) == [0, 10]


def read_as_nobody(path, query):
    """Runs a query with Python's SQLite as a user who owns no files, and returns its rows or the error."""
    ours, theirs = os.pipe()
    if not (child := os.fork()):
        try:
            os.setgid(65534)
            os.setuid(65534)
            with contextlib.closing(sqlite3.connect(path)) as connection:
                found = connection.execute(query).fetchall()
        except Exception as error:
            found = repr(error)
        os.write(theirs, json.dumps(found).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours) as pipe:
        found = json.load(pipe)
    os.waitpid(child, 0)
    return found


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="NOT RUN: only root can read as another user"
)
def test_a_user_without_write_access_reads_between_syncs(sandbox, client):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path, query = pathlib.Path(folder, "mirror.db"), "SELECT count(*), count(id), count(_record) FROM contacts"
        for count in (450, 455):
            client.sync(["contacts"], path, mode=0o644)
            assert read_as_nobody(path, query) == [[count] * 3]
            assert talentdata.Mirror(path).verify() == []
            assert read_as_nobody(path, query) == [[count] * 3]
            sandbox.change("contacts", insert=5)


def test_a_type_that_changes_is_reported_or_refused(sandbox, client, tmp_path, caplog):
    def serve(score):
        pagination = {"total": 1, "limit": 100, "offset": 0, "hasMore": False}
        body = {"pools": [{"id": "p-1", "score": score}], "pagination": pagination}
        sandbox.set_faults({"match": {"path": "/v1/pools"}, "reply": {"body": body}})

    path = tmp_path / "mirror.db"
    serve(1)
    client.sync(["pools"], path)
    serve("secret")
    with pytest.raises(talentdata.SchemaError, match=r"record 0 of the list \(id p-1\): /score: "):
        client.sync(["pools"], path, on_new_field="fail")
    [receipt] = client.sync(["pools"], path)
    [(field, found)] = receipt.scan.schema.other_types.items()
    assert (field, found.column, found.found, found.example.id) == ("/score", "int64", {"string": 1}, "p-1")
    mirror = talentdata.Mirror(path)
    rows = mirror.changes("pools", since=1)
    caplog.clear()
    assert rows.to_arrow()["_extra"].to_pylist() == ['{"score":"secret"}']
    assert "pools: the records differ from their columns: /score has the type int64, but string" in caplog.text
    assert "secret" not in caplog.text
    for ask in (mirror.current, lambda name, **given: mirror.changes(name, 1, **given)):
        with pytest.raises(Exception, match="/score: its type is string"):
            ask("pools", on_new_field="fail").to_arrow()
        table = ask("pools", on_new_field="fail", schema=client.pools.schema()).to_arrow()
        assert (table["score"].to_pylist(), table["_extra"].null_count) == (["secret"], 1)


def test_rows_are_those_at_the_time_of_the_call(sandbox, client, tmp_path):
    client.sync(["pools"], tmp_path / "mirror.db")
    rows = talentdata.Mirror(tmp_path / "mirror.db").current("pools")
    bookmark = rows.bookmark
    sandbox.change("pools", insert=5)
    client.sync(["pools"], tmp_path / "mirror.db")
    assert rows.to_arrow().num_rows == 3
    assert rows.to_arrow().num_rows == 8
    # The bookmark stays the one of the first read, because loading changes twice does no harm.
    assert rows.bookmark == bookmark and bookmark.endswith(":1")


async def test_options_of_a_sync_and_errors_of_a_mirror(sandbox, client, async_client, tmp_path):
    path = tmp_path / "mirror.db"
    with pytest.raises(talentdata.PathError, match="is not a mirror"):
        talentdata.Mirror(path)
    [receipt] = await async_client.sync(["ja_tasks"], path, progress=False)
    assert receipt.changes["insert"] == 230
    sandbox.change("ja_tasks", delete=115)
    with pytest.warns(talentdata.IncompleteWarning, match="sync 2 deleted nothing"):
        [receipt] = client.sync(["ja_tasks"], path, confirm=True)
    assert (receipt.withheld.deletes, receipt.missing) == (115, 115)
    with pytest.raises(talentdata.IncompleteError, match="115 of the 230 records"):
        receipt.require_proven()
    [receipt] = client.sync(["ja_tasks"], path, max_deletes=0.5, keep=datetime.timedelta(microseconds=1))
    assert (receipt.changes["delete"], receipt.missing, receipt.withheld) == (115, 0, None)
    assert (receipt.removed.syncs, receipt.removed.changes, receipt.removed.versions) == (1, 345, 0)
    mirror = talentdata.Mirror(path)
    for wrong, says in (
        (lambda: mirror.changes("ja_tasks", since=0), "Mismatch: not all changes"),
        (lambda: mirror.changes("ja_tasks", since=9), "no sync 9 of ja_tasks yet"),
        (lambda: mirror.changes("ja_tasks", since="000000-000000-000000000000:2"), "Mismatch: of another mirror"),
        (lambda: mirror.changes("contacts"), "does not have contacts"),
        (lambda: mirror.as_of("ja_tasks", "tomorrow"), "neither a bookmark"),
        (lambda: mirror.as_of("ja_tasks", "yesterday"), "is not kept for that time"),
        (lambda: mirror.current("people"), "people"),
    ):
        kind, _, says = says.rpartition(": ")
        with pytest.raises(getattr(talentdata, f"{kind or 'InvalidArgument'}Error"), match=says):
            wrong()
    assert mirror.verify() == [] and mirror.current("ja_tasks").to_arrow().num_rows == 115
    mirror.forget("ja_tasks")
    assert mirror.resources == []


def test_the_history_is_a_table_with_a_row_for_each_sync(sandbox, client, tmp_path):
    path = tmp_path / "mirror.db"
    [first] = client.sync(["contacts"], path)
    sandbox.change("contacts", delete=10, insert=12)
    [second] = client.sync(["contacts"], path)
    rows = talentdata.Mirror(path).history("contacts")
    table = rows.to_arrow()
    numbers = ["generation", "records", "inserts", "updates", "deletes", "missing", "withheld", "completeness"]
    assert table.select(numbers).to_pylist() == [
        dict(zip(numbers, values))
        for values in ((1, 450, 450, 0, 0, 0, None, "proven"), (2, 452, 12, 0, 10, 0, None, "proven"))
    ]
    assert table["ended"].to_pylist() == [first.ended, second.ended]
    assert table["bookmark"].to_pylist() == [first.bookmark, second.bookmark] and rows.bookmark == second.bookmark
    assert "_extra" not in table.column_names
    assert len(rows.to_pandas()) == len(rows.to_polars()) == 2


def test_missing_records_can_be_omitted(sandbox, client, tmp_path):
    path = tmp_path / "mirror.db"
    client.sync(["ja_tasks"], path)
    sandbox.change("ja_tasks", delete=115)
    with pytest.warns(talentdata.IncompleteWarning):
        client.sync(["ja_tasks"], path)
    mirror = talentdata.Mirror(path)
    current = mirror.current("ja_tasks").to_arrow()
    assert current.num_rows == 230 and current["_missing_since"].null_count == 115
    present = mirror.current("ja_tasks", missing=False).to_arrow()
    assert sorted(present["id"].to_pylist()) == sorted(task["id"] for task in client.ja_tasks.list())


def test_changes_since_an_age_a_date_or_a_time_without_a_zone(sandbox, client, tmp_path):
    path = tmp_path / "mirror.db"
    [first] = client.sync(["pools"], path)
    sandbox.change("pools", update=1)
    client.sync(["pools"], path)
    mirror = talentdata.Mirror(path)
    day = datetime.timedelta(days=1)
    for since in ("1d", "yesterday", day, first.ended.date() - day, str(first.ended.date() - day)):
        assert mirror.changes("pools", since).to_arrow().num_rows == 4
    naive = first.ended.replace(tzinfo=None)
    [change] = mirror.changes("pools", naive).to_arrow().to_pylist()
    assert change["_op"] == "update" and json.loads(change["_changed"])
    assert mirror.as_of("pools", naive).bookmark == first.bookmark


def test_records_are_erased_and_reported_until_acknowledged(client, tmp_path):
    path = tmp_path / "mirror.db"
    [receipt] = client.sync(["pools"], path)
    mirror = talentdata.Mirror(path)
    first, second, *_ = mirror.current("pools").to_arrow()["id"].to_pylist()
    for wrong in (["nobody"], [], first):
        with pytest.raises(talentdata.InvalidArgumentError, match="records: "):
            mirror.forget("pools", records=wrong)
    for alone in ({"keep_out": True}, {"announced": False}):
        with pytest.raises(talentdata.InvalidArgumentError, match="apply to single records"):
            mirror.forget("pools", **alone)
    with pytest.raises(talentdata.InvalidArgumentError, match="select columns of the frame"):
        mirror.current("pools", columns=["id", "name"])
    with pytest.raises(talentdata.InvalidArgumentError, match="up_to: there is no sync 99"):
        mirror.acknowledge("pools", 99)
    mirror.forget("pools", records=[first])
    changes = mirror.changes("pools", receipt.bookmark)
    assert changes.to_arrow().select(["_op", "_key", "id"]).to_pylist() == [
        {"_op": "erased", "_key": first, "id": None}
    ]
    mirror.forget("pools", records=[second], announced=False)
    assert mirror.changes("pools", changes.bookmark).to_arrow().num_rows == 0
    assert first.encode() in path.read_bytes() and second.encode() not in path.read_bytes()
    mirror.acknowledge("pools", changes.bookmark)
    assert first.encode() not in path.read_bytes()
    assert [sync.erased_since for sync in mirror.syncs] == [2, 1] and mirror.verify() == []


def test_a_mirror_moves_to_another_address_of_the_same_service(sandbox, client, tmp_path):
    path = tmp_path / "mirror.db"
    [first] = client.sync(["pools"], path)
    address = sandbox.base_url.replace("127.0.0.1", "localhost")
    with talentdata.Client(base_url=address, client_id=sandbox.client_id, client_secret=sandbox.client_secret) as other:
        with pytest.raises(talentdata.MismatchError, match="base_url: .*set same_service"):
            other.sync(["pools"], path)
        [second] = other.sync(["pools"], path, same_service=True)
    assert (first.generation, second.generation) == (1, 2)
    with pytest.raises(talentdata.MismatchError, match="localhost"):
        client.sync(["pools"], path)
