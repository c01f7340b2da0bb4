"""Lists in parts: planned here, read in other processes while the list changes, and proven together."""

import asyncio
import concurrent.futures
import json
import multiprocessing
import pickle

import pyarrow
import pytest

import talentdata


def credentials(sandbox):
    return {
        "base_url": sandbox.base_url,
        "client_id": sandbox.client_id,
        "client_secret": sandbox.client_secret,
    }


def read(given):
    """What a worker does, in a process of its own."""
    settings, part = given
    with talentdata.Client(**settings) as client:
        scan = client.scan(part)
        return [contact.id for contact in scan], scan.receipt


def test_workers_read_parts_of_a_list_that_changes():
    drift = {"every": 2, "inserts": 3, "deletes": 2}
    with talentdata.Sandbox(records={"contacts": 3000}, policy="unlimited", drift=drift) as sandbox:
        with sandbox.client() as client:
            parts = client.contacts.list(page_size=50).parts(8)
        assert [part.number for part in parts] == list(range(1, 9)) and {part.of for part in parts} == {8}
        # A child that is spawned anew does not find this module, whose package only pytest knows.
        fork = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=fork) as pool:
            done = list(pool.map(read, [(credentials(sandbox), part) for part in parts]))
        changes = sandbox.changes("contacts")
    delivered = [contact for ids, _ in done for contact in ids]
    inserted = {change["key"] for change in changes if change["op"] == "insert"}
    deleted = {change["key"] for change in changes if change["op"] == "delete"}
    assert len(deleted) > 20 and len(set(delivered)) == len(delivered)
    assert len(set(delivered) - inserted - deleted) == 3000 - len(deleted - inserted)
    receipt = talentdata.Receipt.of_parts(receipt for _, receipt in done)
    assert receipt.completeness == "proven" and receipt.records == len(delivered) and receipt.part is None


def test_a_part_is_the_same_after_a_journey_and_may_be_read_twice():
    with talentdata.Sandbox(records={"contacts": 600}) as sandbox, sandbox.client() as client:
        first, second = client.contacts.list().parts(2)
        copy = pickle.loads(pickle.dumps(second))
        assert copy == second == talentdata.Part(second.json) and repr(second) == "Part(contacts, 2 of 2)"
        assert sandbox.client_id not in second.json and sandbox.client_secret not in second.json
        whole = client.contacts.list().to_arrow()
        tables = [client.scan(part).to_arrow() for part in (first, second, copy)]
        assert tables[1] == tables[2] and pyarrow.concat_tables(tables[:2])["id"] == whole["id"]
        scans = [client.scan(part) for part in (first, second, copy)]
        for scan in scans:
            assert all(type(contact) is talentdata.Contact for contact in scan)
        receipts = [scan.receipt for scan in scans]
        assert receipts[0].part["planned_records"] == first.planned_records == 300
        assert talentdata.Receipt.of_parts(receipts[:2]).basis == "joined"
        assert talentdata.Receipt.of_parts(receipts[:1]).completeness == "unfinished"
        with pytest.raises(talentdata.InvalidArgumentError, match="part 2 is there twice"):
            talentdata.Receipt.of_parts(receipts)


def test_all_parts_have_the_same_columns():
    schema = pyarrow.schema([("id", pyarrow.string()), ("late", pyarrow.string())])
    with talentdata.Sandbox(records={"pools": 700}) as sandbox, sandbox.client() as client:
        for scan in (client.pools.list(), client.pools.list(columns="json"), client.pools.list(schema=schema)):
            tables = [client.scan(part).to_arrow() for part in scan.parts(4)]
            assert len(tables) == 4 and len({table.schema.to_string() for table in tables}) == 1
        assert tables[0].column_names == ["id", "late", "_extra"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda part: part.json.replace('"part":1', '"part":2'), "altered"),
        (lambda part: part.json.replace('"talentdata_part":1', '"talentdata_part":9'), "version 9"),
        (lambda part: json.dumps({"part": 1}), "not a part"),
    ],
)
def test_what_is_no_part_as_it_was_planned_is_refused(change, reason):
    with talentdata.Sandbox() as sandbox, sandbox.client() as client:
        [part] = client.contacts.list().parts(1)
        with pytest.raises(talentdata.InvalidArgumentError, match=reason):
            client.scan(talentdata.Part(change(part)))


def test_a_part_of_another_service_is_refused_before_anything_is_sent():
    with talentdata.Sandbox() as sandbox, talentdata.Sandbox() as other:
        with sandbox.client() as client:
            [part] = client.contacts.list().parts(1)
        with other.client() as client:
            with pytest.raises(talentdata.InvalidArgumentError, match="base_url or client_id"):
                client.scan(part).to_arrow()
            assert client.last_response is None


@pytest.mark.parametrize(("options", "count"), [({"limit": 5}, 2), ({"consistency": "snapshot"}, 2), ({}, 0)])
def test_what_has_no_parts_is_refused(options, count):
    with talentdata.Sandbox() as sandbox, sandbox.client() as client:
        with pytest.raises(talentdata.InvalidArgumentError, match="parts"):
            client.contacts.list(**options).parts(count)
        assert client.last_response is None


def test_the_asynchronous_client_has_parts():
    async def main():
        async with sandbox.async_client() as client:
            parts = await client.contacts.list().parts(3)
            scans = [client.scan(part) for part in parts]
            tables = await asyncio.gather(*(scan.to_arrow() for scan in scans))
            return sum(table.num_rows for table in tables), [scan.receipt for scan in scans]

    with talentdata.Sandbox(records={"contacts": 900}) as sandbox:
        rows, receipts = asyncio.run(main())
    assert rows == 900 and talentdata.Receipt.of_parts(receipts).completeness == "proven"
