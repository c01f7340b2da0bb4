"""Exports of both clients in every format: interrupted, resumed and verified."""

import asyncio
import json

import pytest
from pyarrow import csv, ipc, parquet
from support import kept

import talentdata
from talentdata._progress import Bar

READ = {
    "jsonl": lambda path: [json.loads(line)["id"] for line in path.read_text().splitlines()],
    "csv": lambda path: csv.read_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True))["id"].to_pylist(),
    "parquet": lambda path: parquet.read_table(path)["id"].to_pylist(),
    "arrow": lambda path: ipc.open_file(path).read_all()["id"].to_pylist(),
}

#: A fault rule: only the first page of the list arrives; later ones hang.
SLOW = {"match": {"path": "/v1/contacts", "from": 2}, "reply": {"delay_ms": 600_000}}


@pytest.mark.parametrize("kind", READ)
async def test_the_format_is_given_or_follows_from_the_extension(client, async_client, tmp_path, kind, capsys):
    path, named = tmp_path / f"contacts.{kind}", tmp_path / "contacts.data"
    receipt = client.contacts.export(path, progress=True)
    assert "contacts: 450 records in " in capsys.readouterr().err
    assert (receipt.resource, receipt.records, receipt.completeness) == ("contacts", 450, "proven")
    await async_client.contacts.export(str(named), format=kind)
    assert READ[kind](path) == READ[kind](named) == [contact.id for contact in client.contacts.list()]
    assert capsys.readouterr().err == ""  # standard error is not a terminal here
    found = talentdata.verify(path, receipt)
    assert found and found.matches and found.written["records"] == 450
    found.raise_for_differences()
    saved = tmp_path / "receipt.json"
    saved.write_text(receipt.json)
    assert talentdata.verify(str(path), saved) == talentdata.verify(path, str(saved)) == found
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(talentdata.MismatchError, match="bytes instead of"):
        talentdata.verify(path, receipt).raise_for_differences()
    assert {file.name for file in tmp_path.iterdir()} == {path.name, named.name, saved.name}


async def test_a_task_that_is_cancelled_is_resumed(sandbox, async_client, tmp_path):
    path = tmp_path / "contacts.csv"
    # With a given schema, the export writes the first page at once, without waiting for a sample.
    schema = await async_client.contacts.schema()
    sandbox.set_faults(SLOW)
    task = asyncio.create_task(async_client.contacts.export(path, schema=schema))
    # Waits until the first page is written and synced.
    while not kept(path):
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert isinstance(caught.value.__cause__, talentdata.CancelledError)
    assert "call export() again with resume=True" in str(caught.value.__cause__)
    sandbox.set_faults()
    # The cancelled export ends on another thread, so it may still hold the file.
    while True:
        try:
            receipt = await async_client.contacts.export(path, schema=schema, resume=True)
            break
        except talentdata.BusyError as error:
            assert error.retryable and "another export" in str(error)
    assert receipt.records == 450
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_progress_bar_that_fails_ends_the_export(client, sandbox, tmp_path, monkeypatch):
    sandbox.set_faults(SLOW)
    path = tmp_path / "contacts.parquet"
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Bar, "__call__", lambda *_: 1 / 0)
        client.contacts.export(path, progress=True, page_size=10)
    assert not path.exists()
    sandbox.set_faults()
    # The failed export may have kept the first page.
    assert client.contacts.export(path, restart=True).records == 450
    assert [file.name for file in tmp_path.iterdir()] == ["contacts.parquet"]


async def test_kept_records_are_not_discarded(client, async_client, sandbox, tmp_path):
    lists = tmp_path / "lists"
    # The second page of contacts always fails, so that the first one is kept.
    sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 2}, "reply": {"status": 404}})
    with pytest.raises(talentdata.NotFoundError, match="records are kept"):
        client.export(["contacts"], lists)
    sandbox.set_faults()
    requests = sandbox.stats()["requests"]
    ways = "call export.. again with resume=True; to discard them and begin again, call it with restart=True"
    for again in [
        lambda: client.contacts.export(lists / "contacts.jsonl"),
        lambda: client.export(["pools", "contacts"], lists),
    ]:
        with pytest.raises(talentdata.InvalidArgumentError, match=ways):
            again()
    with pytest.raises(talentdata.InvalidArgumentError, match=ways):
        await async_client.contacts.export(lists / "contacts.jsonl")
    with pytest.raises(talentdata.InvalidArgumentError, match="resume, restart: "):
        client.contacts.export(lists / "contacts.jsonl", resume=True, restart=True)
    assert sandbox.stats()["requests"] == requests
    assert [file.name for file in lists.iterdir()] == ["contacts.jsonl.part"]
    receipt = client.contacts.export(lists / "contacts.jsonl", resume=True, page_size=50)
    assert "page_size was 100 and is now 50" in receipt.restarted
    assert (receipt.resumed, receipt.records) == (0, 450)
    assert client.contacts.export(lists / "contacts.jsonl", restart=True).restarted is None


def test_several_lists_in_one_export_have_their_own_schemas(client, tmp_path):
    schema = client.ja_tasks.schema(columns="json")
    receipts = client.export(
        ["contacts", "ja-tasks"], tmp_path / "lists", format="parquet", schema={"ja-tasks": schema}
    )
    assert [(one.resource, one.records) for one in receipts] == [("contacts", 450), ("ja_tasks", 230)]
    # A list without a given schema has the columns of its first records.
    assert [one.schema.other_types for one in receipts] == [{}, {}]
    for receipt in receipts:
        assert talentdata.verify(tmp_path / "lists" / f"{receipt.resource}.parquet", receipt)


def test_an_error_says_whether_a_retry_may_help(client, sandbox):
    for status, retryable in ((503, True), (501, False)):
        sandbox.set_faults({"match": {"path": "/v1/contacts"}, "reply": {"status": status}})
        with pytest.raises(talentdata.ServerError) as caught:
            client.contacts.page()
        assert caught.value.retryable is retryable


def test_file_names_do_not_depend_on_the_spelling_of_the_lists(client, tmp_path):
    client.export(["ja/skills", "JA-TASKS"], tmp_path / "lists")
    assert sorted(file.name for file in (tmp_path / "lists").iterdir()) == ["ja_skills.jsonl", "ja_tasks.jsonl"]
    with pytest.raises(talentdata.InvalidArgumentError, match="did you mean contacts"):
        client.export(["contact"], tmp_path / "lists")
