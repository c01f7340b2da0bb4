"""Scans: complete, in order, continued by another loop, and with a receipt."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow
import pytest
from support import until

import talentdata


@pytest.mark.parametrize("use", [list, lambda scan: scan.to_arrow()])
def test_closing_a_scan_wakes_the_thread_that_waits_for_it(client, sandbox, use):
    sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 2}, "reply": {"delay_ms": 600_000}})
    scan = client.contacts.list(page_size=10)
    with ThreadPoolExecutor() as threads:
        reading = threads.submit(use, scan)
        until(lambda: sandbox.stats()["requests_by_path"].get("/v1/contacts", 0) >= 2)
        scan.close()
        with pytest.raises(talentdata.CancelledError, match="was closed"):
            reading.result(60)
    with pytest.raises(talentdata.CancelledError, match="was closed"):
        list(scan)
    assert len(list(client.pools.list())) == 3


def test_an_error_names_the_page_and_ends_the_scan(client, sandbox):
    reply = {"status": 403, "headers": {"x-request-id": "r-7"}}
    for use, begin in ((list, 3), (lambda scan: scan.to_arrow(), 3), (pyarrow.table, 1)):
        sandbox.set_faults({"match": {"path": "/v1/contacts", "from": begin}, "reply": reply})
        scan = client.contacts.list()
        records = iter(scan) if use is list else scan
        with pytest.raises(talentdata.ForbiddenError) as caught:
            use(records)
        assert (caught.value.status, caught.value.request_id) == (403, "r-7")
        assert (caught.value.offset > 0) == (begin > 1)
        # Neither the failed scan nor its iterator may look complete.
        for again in (lambda: list(scan), lambda: list(records), scan.to_arrow, lambda: pyarrow.table(scan)):
            with pytest.raises(talentdata.InvalidArgumentError, match="has failed"):
                again()
    assert len(list(client.pools.list())) == 3


def test_an_iterator_continues_after_a_loop_and_a_second_one_is_refused(client):
    scan = client.contacts.list(page_size=50)
    records, ids = iter(scan), []
    assert scan.receipt.basis is None and scan.receipt.completeness == "unfinished"
    for contact in records:
        ids.append(contact.id)
        assert (scan.receipt.records, scan.receipt.completeness) == (len(ids), "unfinished")
        if len(ids) == 30:
            break
    with pytest.raises(ValueError, match="mine"):
        for contact in records:
            ids.append(contact.id)
            raise ValueError("mine")
    for use in (lambda: list(scan), lambda: next(iter(scan)), scan.to_arrow, scan.__arrow_c_stream__):
        with pytest.raises(
            talentdata.InvalidArgumentError, match=r"records = iter\(scan\).*list\(\)|start another scan"
        ):
            use()
    with ThreadPoolExecutor(8) as threads:
        ids += sum(threads.map(lambda _: [contact.id for contact in records], range(8)), [])
    assert len(ids) == len(set(ids)) == scan.receipt.records == 450 and list(records) == []
    receipt = scan.receipt
    assert receipt.completeness == talentdata.Completeness.PROVEN == "proven" and receipt.basis == "counted"
    assert receipt.unknown_fields["jobTitle"] == 450 and "keeps its order" in receipt.assumes
    assert {name: getattr(receipt, name) for name in receipt._documented}.keys() == receipt.to_dict().keys()
    for use in (lambda: list(scan), scan.to_arrow, scan.__arrow_c_stream__):
        with pytest.raises(talentdata.InvalidArgumentError, match="has ended"):
            use()
