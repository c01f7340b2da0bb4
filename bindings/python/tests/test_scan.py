"""Scans: complete, in order, resumable by another loop, with a receipt."""

import os
import sys
import threading

import pytest
from support import asked

import talentdata
from talentdata import _talentdata


def test_every_record_comes_once_with_a_receipt(client):
    scan = client.contacts.list()
    assert scan.receipt.completeness == "unfinished" and scan.receipt.records == 0
    ids = [contact.id for contact in scan]
    assert len(ids) == len(set(ids)) == 450
    receipt = scan.receipt
    assert receipt.completeness == talentdata.Completeness.PROVEN == "proven"
    assert (receipt.resource, receipt.records, receipt.total_last, receipt.doubts) == ("contacts", 450, 450, [])
    assert receipt.requests >= receipt.pages >= 5
    assert receipt.unknown_fields["jobTitle"] == 450
    assert "contacts" in receipt._repr_html_() and "proven" in receipt._repr_html_()


def test_the_class_of_the_receipt_has_the_fields_of_the_core(client):
    scan = client.pools.list()
    list(scan)
    fields = {name for name, value in vars(talentdata.Receipt).items() if isinstance(value, _talentdata.Field)}
    assert fields == set(talentdata.Receipt._documented) == set(scan.receipt.to_dict())
    for name in fields:
        getattr(scan.receipt, name)


def test_a_loop_that_stops_can_go_on(client):
    scan = client.contacts.list(page_size=50)
    ids = []
    for contact in scan:
        ids.append(contact.id)
        if len(ids) == 30:
            break
    with pytest.raises(ValueError, match="mine"):
        for contact in scan:
            ids.append(contact.id)
            if len(ids) == 77:
                raise ValueError("mine")
    ids += [contact.id for contact in scan]
    assert len(ids) == len(set(ids)) == 450


def test_an_interruption_at_any_call_of_the_package_loses_no_record(client):
    expected = [contact.id for contact in client.contacts.list()]
    scan, ids, interrupted = client.contacts.list(page_size=50), [], []

    def interrupt(frame, event, called):
        # As a signal does: when a native function has returned, before its result is used.
        place = (called, len(ids))
        if event == "c_return" and frame.f_code.co_filename == sys.modules["talentdata._scan"].__file__ and place not in interrupted:
            interrupted.append(place)
            raise KeyboardInterrupt

    def read():
        sys.setprofile(interrupt)
        try:
            for contact in scan:
                ids.append(contact.id)
            return True
        except KeyboardInterrupt:
            return False
        except talentdata.ClosedError:
            # What was interrupted is the call that found the end of the list.
            return True
        finally:
            sys.setprofile(None)

    while not read():
        pass
    assert ids == expected and scan.receipt.completeness == "proven"
    assert len(interrupted) > len(expected) / 50


def test_a_scan_that_was_read_is_not_silently_empty(client):
    scan = client.pools.list()
    assert len(list(scan)) == 3
    for use in (lambda: list(scan), scan.to_arrow):
        with pytest.raises(talentdata.ClosedError, match="has ended"):
            use()


def test_a_scan_gives_records_or_columns(client):
    scan = client.contacts.list()
    next(iter(scan))
    with pytest.raises(talentdata.ClosedError, match="records or columns"):
        scan.to_arrow()


def test_leaving_the_block_stops_the_requests(client, sandbox):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with client.contacts.list(page_size=5) as scan:
            next(iter(scan))
        with pytest.raises(talentdata.ClosedError, match="closed"):
            list(scan)
    client.close()
    sent = sandbox.stats()["requests"]
    assert sent < 5 * 100
    assert len(os.listdir("/proc/self/fd")) <= before + 20


@pytest.mark.parametrize("use", [list, lambda scan: scan.to_arrow(), lambda scan: scan.to_parquet("nothing.parquet")])
def test_closing_a_scan_wakes_the_thread_that_waits_for_it(client, sandbox, faults, use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    faults({"match": {"path": "/v1/contacts", "from": 2}, "reply": {"delay_ms": 600_000}})
    scan, raised = client.contacts.list(page_size=10), []

    def read():
        with pytest.raises(talentdata.ClosedError, match="was closed") as caught:
            use(scan)
        raised.append(caught.value)

    thread = threading.Thread(target=read)
    thread.start()
    asked(sandbox, "/v1/contacts", 2)
    scan.close()
    thread.join(60)
    assert len(raised) == 1 and not (tmp_path / "nothing.parquet").exists()
    with pytest.raises(talentdata.ClosedError, match="was closed"):
        list(scan)
    assert len(list(client.pools.list())) == 3


def test_an_error_names_the_page_and_ends_the_scan(client, faults):
    faults({"match": {"path": "/v1/contacts", "from": 3}, "reply": {"status": 403, "headers": {"x-request-id": "r-7"}}})
    scan = client.contacts.list()
    with pytest.raises(talentdata.ForbiddenError) as caught:
        list(scan)
    assert caught.value.status == 403 and caught.value.request_id == "r-7"
    assert caught.value.offset is not None and caught.value.offset > 0
    with pytest.raises(talentdata.ClosedError):
        list(scan)
    assert len(list(client.pools.list())) == 3


def test_consistency_is_checked(client):
    scan = client.contacts.list(consistency="fast")
    assert len(list(scan)) == 450 and scan.receipt.completeness == "not_checked"
    with pytest.raises(talentdata.InvalidArgumentError, match="consistency"):
        client.contacts.list(consistency="slow")
    with pytest.raises(talentdata.InvalidArgumentError, match="page_size"):
        client.contacts.list(page_size=-5)


def test_a_progress_bar_counts_records(client, capsys):
    assert len(list(client.contacts.list(progress=True))) == 450
    shown = capsys.readouterr().err
    assert "contacts: 100%" in shown and "450/450" in shown
    list(client.contacts.list(progress=False))
    list(client.contacts.list())  # standard error is no terminal here
    assert capsys.readouterr().err == ""


def test_a_progress_bar_for_a_file(client, capsys, tmp_path):
    client.contacts.list(progress=True).to_parquet(tmp_path / "contacts.parquet")
    assert "450/450" in capsys.readouterr().err


def test_a_file_is_resumed(tmp_path):
    from pyarrow import parquet

    whole, path = tmp_path / "whole.parquet", tmp_path / "contacts.parquet"
    options = {"records": {"contacts": 20_000}, "policy": "unlimited", "faults": True}
    with talentdata.Sandbox(**options) as sandbox, sandbox.client(paced=False) as client:
        client.contacts.list().to_parquet(whole)
        # Behind the first row group of 8,192 rows.
        sandbox.misbehave({"match": {"path": "/v1/contacts", "from": 120}, "reply": {"status": 403}})
        with pytest.raises(talentdata.ForbiddenError, match="to be resumed"):
            client.contacts.list().to_parquet(path)
        assert not path.exists()
        sandbox.misbehave()
        receipt = client.contacts.list().to_parquet(path, resume=True)
    assert (receipt.resumed, receipt.records, receipt.completeness) == (1, 20_000, "proven")
    assert parquet.read_table(path).equals(parquet.read_table(whole))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["contacts.parquet", "whole.parquet"]


def test_a_progress_bar_that_fails_ends_the_writing(client, faults, tmp_path, monkeypatch):
    from tqdm.auto import tqdm

    faults({"match": {"path": "/v1/contacts", "from": 2}, "reply": {"delay_ms": 600_000}})
    monkeypatch.setattr(tqdm, "update", lambda *_: 1 / 0)
    path = tmp_path / "contacts.parquet"
    with pytest.raises(ZeroDivisionError):
        client.contacts.list(progress=True, page_size=10).to_parquet(path)
    assert not path.exists()
    monkeypatch.undo()
    faults()
    # What was left behind is in nobody's way.
    assert client.contacts.list().to_parquet(path).records == 450
    assert [file.name for file in tmp_path.iterdir()] == ["contacts.parquet"]


def test_a_terminal_gets_a_progress_bar_by_itself(client, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    client.contacts.list().to_arrow()
    assert "450/450" in capsys.readouterr().err
