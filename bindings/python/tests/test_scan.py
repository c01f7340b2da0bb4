"""Scans: complete, in order, resumable by another loop, with a receipt."""

import os
import sys
import threading
from datetime import datetime, timezone

import pytest
from support import asked, python

import talentdata
from talentdata import _record


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


def test_the_class_of_the_receipt_has_the_fields_of_the_core(client):
    scan = client.pools.list()
    list(scan)
    fields = {name for name, value in vars(talentdata.Receipt).items() if isinstance(value, _record.Field)}
    assert fields == set(talentdata.Receipt._documented) == set(scan.receipt.to_dict())
    for name in fields:
        getattr(scan.receipt, name)


def test_a_loop_that_stops_goes_on_with_the_same_iterator(client):
    records, ids = iter(client.contacts.list(page_size=50)), []
    for contact in records:
        ids.append(contact.id)
        if len(ids) == 30:
            break
    with pytest.raises(ValueError, match="mine"):
        for contact in records:
            ids.append(contact.id)
            if len(ids) == 77:
                raise ValueError("mine")
    ids += [contact.id for contact in records]
    assert len(ids) == len(set(ids)) == 450
    # As any iterator that has ended.
    assert list(records) == []


def test_the_receipt_counts_what_was_given(client):
    scan = client.contacts.list(page_size=50)
    for taken, _ in enumerate(scan, 1):
        assert scan.receipt.records == taken and scan.receipt.completeness == "unfinished"
    assert (scan.receipt.records, scan.receipt.completeness) == (450, "proven")
    with client.contacts.list() as stopped:
        next(iter(stopped))
    assert (stopped.receipt.records, stopped.receipt.completeness) == (1, "unfinished")


def test_a_second_iterator_would_miss_records_and_is_refused(client):
    scan = client.contacts.list()
    records = iter(scan)
    next(records)
    for use in (lambda: list(scan), lambda: next(iter(scan)), lambda: [*scan]):
        with pytest.raises(talentdata.InvalidArgumentError, match=r"records = iter\(scan\).*list\(\)"):
            use()
    assert len(list(records)) == 449


def test_threads_share_an_iterator(client):
    records, taken = iter(client.contacts.list(page_size=5)), [[] for _ in range(8)]

    def read(mine):
        for contact in records:
            mine.append(contact.id)

    threads = [threading.Thread(target=read, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = sum(taken, [])
    assert len(ids) == len(set(ids)) == 450


def test_threads_with_loops_of_their_own_are_told_to_share_one(client):
    scan, ids, refused = client.contacts.list(page_size=5), [], []

    def read():
        try:
            ids.extend(contact.id for contact in scan)
        except talentdata.InvalidArgumentError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == len(set(ids)) == 450
    assert len(refused) == 3 and all("scan" in text and "list()" in text for text in refused)


INTERRUPTED = """
import operator, signal, talentdata
reading = False
def interrupt(*_):
    # Only what is read is interrupted, and once: a signal that comes late hits nothing else.
    global reading
    if reading:
        reading = False
        raise KeyboardInterrupt
with talentdata.Sandbox(records={"contacts": 450}) as sandbox, sandbox.client() as client:
    scan = client.contacts.list(page_size=10)
    records, ids, interrupted = iter(scan), [], 0
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    while True:
        try:
            reading = True
            # Both are native: what is interrupted is the iterator.
            ids.extend(map(operator.itemgetter("id"), records))
            break
        except KeyboardInterrupt:
            interrupted += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(len(ids), len(set(ids)), scan.receipt.records, scan.receipt.completeness, interrupted > 10)
"""


def test_an_interrupted_iterator_loses_no_record():
    # At 40 requests a second the 50 pages take more than a second.
    result = python(INTERRUPTED)
    assert result.stdout == "450 450 450 proven True\n", result.stderr


def test_a_scan_that_was_read_is_not_silently_empty(client):
    scan = client.pools.list()
    assert len(list(scan)) == 3
    for use in (lambda: list(scan), scan.to_arrow, scan.__arrow_c_stream__):
        with pytest.raises(talentdata.InvalidArgumentError, match="has ended"):
            use()


def test_a_scan_gives_records_or_columns(client):
    scan = client.contacts.list()
    next(iter(scan))
    for use in (scan.to_arrow, scan.__arrow_c_stream__):
        with pytest.raises(talentdata.InvalidArgumentError, match="start another scan"):
            use()


def test_leaving_the_block_stops_the_requests(client, sandbox):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with client.contacts.list(page_size=5) as scan:
            next(iter(scan))
        with pytest.raises(talentdata.CancelledError, match="closed"):
            list(scan)
    client.close()
    sent = sandbox.stats()["requests"]
    assert sent < 5 * 100
    assert len(os.listdir("/proc/self/fd")) <= before + 20


@pytest.mark.parametrize("use", [list, lambda scan: scan.to_arrow()])
def test_closing_a_scan_wakes_the_thread_that_waits_for_it(client, sandbox, faults, use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    faults({"match": {"path": "/v1/contacts", "from": 2}, "reply": {"delay_ms": 600_000}})
    scan, raised = client.contacts.list(page_size=10), []

    def read():
        with pytest.raises(talentdata.CancelledError, match="was closed") as caught:
            use(scan)
        raised.append(caught.value)

    thread = threading.Thread(target=read)
    thread.start()
    asked(sandbox, "/v1/contacts", 2)
    scan.close()
    thread.join(60)
    assert len(raised) == 1 and not (tmp_path / "nothing.parquet").exists()
    with pytest.raises(talentdata.CancelledError, match="was closed"):
        list(scan)
    assert len(list(client.pools.list())) == 3


def test_an_error_names_the_page_and_ends_the_scan(client, faults):
    faults({"match": {"path": "/v1/contacts", "from": 3}, "reply": {"status": 403, "headers": {"x-request-id": "r-7"}}})
    scan = client.contacts.list()
    records = iter(scan)
    with pytest.raises(talentdata.ForbiddenError) as caught:
        list(records)
    assert caught.value.status == 403 and caught.value.request_id == "r-7"
    assert caught.value.offset is not None and caught.value.offset > 0
    # The same iterator must not end as if that had been all.
    for use in (lambda: list(scan), lambda: list(records), scan.to_arrow):
        with pytest.raises(talentdata.InvalidArgumentError, match="has failed"):
            use()
    assert len(list(client.pools.list())) == 3


def test_a_proof_names_what_it_assumes(client):
    scan = client.contacts.list()
    assert scan.receipt.basis is None and scan.receipt.assumes is None
    assert len(list(scan)) == 450 and scan.receipt.completeness == "proven"
    assert scan.receipt.basis == "counted" and "keeps its order" in scan.receipt.assumes
    with pytest.raises(talentdata.InvalidArgumentError, match="page_size"):
        client.contacts.list(page_size=-5)


def test_a_progress_bar_counts_records(client, capsys):
    assert len(list(client.contacts.list(progress=True))) == 450
    shown = capsys.readouterr().err
    assert "contacts: 100%" in shown and "450/450" in shown
    list(client.contacts.list(progress=False))
    list(client.contacts.list())  # standard error is no terminal here
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_progress_bar_by_itself(client, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    client.contacts.list().to_arrow()
    assert "450/450" in capsys.readouterr().err
