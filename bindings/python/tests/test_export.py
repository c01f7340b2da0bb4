"""Exports: every format, by both clients; interrupted, resumed, refused."""

import asyncio
import json

import pytest
from pyarrow import csv, ipc, parquet

import talentdata

FORMATS = ["jsonl", "csv", "parquet", "arrow"]

#: Until then nothing of the list has come but its first page.
SLOW = {"match": {"path": "/v1/contacts", "from": 2}, "reply": {"delay_ms": 600_000}}


def read(path, kind) -> list[str]:
    """The ids in a file."""
    if kind == "jsonl":
        return [json.loads(line)["id"] for line in path.read_text().splitlines()]
    if kind == "csv":
        quoted = csv.ParseOptions(newlines_in_values=True)
        return csv.read_csv(path, parse_options=quoted)["id"].to_pylist()
    table = parquet.read_table(path) if kind == "parquet" else ipc.open_file(path).read_all()
    return table["id"].to_pylist()


@pytest.mark.parametrize("kind", FORMATS)
def test_the_format_is_named_or_that_of_the_extension(client, sandbox, tmp_path, kind, capsys):
    path, named = tmp_path / f"contacts.{kind}", tmp_path / "contacts.data"
    receipt = client.contacts.export(path, progress=True)
    assert "450/450" in capsys.readouterr().err
    assert (receipt.resource, receipt.records, receipt.completeness) == ("contacts", 450, "proven")

    async def main():
        async with sandbox.async_client() as client:
            await client.contacts.export(str(named), format=kind)

    asyncio.run(main())
    assert read(path, kind) == read(named, kind) == [contact.id for contact in client.contacts.list()]
    assert capsys.readouterr().err == ""  # standard error is no terminal here
    assert {file.name for file in tmp_path.iterdir()} == {path.name, named.name}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "a.csv", "format": "xlsx"}, "format"),
        ({"path": "a.xlsx"}, "xlsx.* use the extension .jsonl, .csv, .parquet or .arrow"),
        ({"path": "s3://bucket/a.parquet"}, "written to a file, not to s3"),
        ({"path": "a.csv", "columns": "many"}, "columns"),
        ({"path": "a.csv", "page_size": -1}, "page_size"),
    ],
)
def test_what_is_refused_before_anything_is_sent(client, sandbox, options, message):
    with pytest.raises(talentdata.InvalidArgumentError, match=message):
        client.contacts.export(**options)
    assert sandbox.stats()["requests"] == 0


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_text_file_is_resumed(client, sandbox, tmp_path, kind):
    whole, path = tmp_path / f"whole.{kind}", tmp_path / f"contacts.{kind}"
    schema = client.contacts.schema()
    client.contacts.export(whole, schema=schema)
    sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 4}, "reply": {"status": 403}})
    with pytest.raises(talentdata.ForbiddenError, match=r"call export\(\) again with resume=True"):
        client.contacts.export(path, schema=schema)
    sandbox.set_faults()
    with pytest.raises(talentdata.InvalidArgumentError, match="page_size"):
        client.contacts.export(path, schema=schema, resume=True, page_size=7)
    receipt = client.contacts.export(path, schema=schema, resume=True)
    assert (receipt.resumed, receipt.records) == (1, 450) and path.read_bytes() == whole.read_bytes()


def test_a_task_that_is_cancelled_is_resumed(sandbox, tmp_path):
    path = tmp_path / "contacts.csv"

    async def main():
        async with sandbox.async_client() as client:
            # The columns are decided already, so that the first page is written when it comes.
            schema = await client.contacts.schema()
            sandbox.set_faults(SLOW)
            task = asyncio.create_task(client.contacts.export(path, schema=schema))
            # Until the first page is written and synced.
            checkpoint = tmp_path / "contacts.csv.part" / "checkpoint"
            while not checkpoint.exists() or '"progress":null' in checkpoint.read_text():
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            assert isinstance(caught.value.__cause__, talentdata.CancelledError)
            assert "call export() again with resume=True" in str(caught.value.__cause__)
            sandbox.set_faults()
            # What was cancelled ends on another thread.
            while True:
                try:
                    return await client.contacts.export(path, schema=schema, resume=True)
                except talentdata.IoError as error:
                    assert "another export" in str(error)

    assert asyncio.run(main()).records == 450
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_progress_bar_that_fails_ends_the_export(client, faults, tmp_path, monkeypatch):
    from tqdm.auto import tqdm

    faults(SLOW)
    monkeypatch.setattr(tqdm, "update", lambda *_: 1 / 0)
    path = tmp_path / "contacts.parquet"
    with pytest.raises(ZeroDivisionError):
        client.contacts.export(path, progress=True, page_size=10)
    assert not path.exists()
    monkeypatch.undo()
    faults()
    # The unfinished export is replaced.
    assert client.contacts.export(path).records == 450
    assert [file.name for file in tmp_path.iterdir()] == ["contacts.parquet"]


@pytest.fixture
def pools():
    with talentdata.Sandbox(records={"pools": 30}) as sandbox, sandbox.client() as client:
        yield client.pools


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet", "arrow"])
def test_what_was_written_matches(pools, tmp_path, format):
    path = tmp_path / f"pools.{format}"
    receipt = pools.export(path)
    found = talentdata.verify(path, receipt)
    assert found and found.matches and found.written["records"] == 30
    assert receipt.written["blake3"] == found.blake3 and receipt.written["bytes"] == path.stat().st_size
    found.raise_for_differences()
    saved = tmp_path / "receipt.json"
    saved.write_text(receipt.json)
    assert talentdata.verify(str(path), saved) == talentdata.verify(path, str(saved)) == found
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(talentdata.MismatchError, match="bytes instead of"):
        talentdata.verify(path, receipt).raise_for_differences()
