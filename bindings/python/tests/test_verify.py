"""Files compared with receipts: those of exports in Python, and those that the command line has written."""

import json

import pytest

import talentdata


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


def test_what_is_no_receipt_or_no_file_is_refused(pools, tmp_path):
    path = tmp_path / "pools.jsonl"
    receipt = pools.export(path)
    with pytest.raises(talentdata.IoError, match="nowhere"):
        talentdata.verify(tmp_path / "nowhere", receipt)
    with pytest.raises(talentdata.IoError, match="nowhere"):
        talentdata.verify(path, tmp_path / "nowhere")
    for other in (path, tmp_path / "plan.json"):
        (tmp_path / "plan.json").write_text(json.dumps({"records": 3}))
        with pytest.raises(talentdata.InvalidArgumentError, match="not a receipt"):
            talentdata.verify(path, other)
    scan = pools.list()
    list(scan)
    assert scan.receipt.written is None
    with pytest.raises(talentdata.InvalidArgumentError, match="does not say what was written"):
        talentdata.verify(path, scan.receipt)
