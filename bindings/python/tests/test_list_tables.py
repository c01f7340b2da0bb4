"""Engines read a list object as a table. Each read is a new scan, with the columns that the client remembers."""

import duckdb
import pandas
import polars
import pyarrow
import pytest
from support import served

import talentdata


@pytest.fixture
def counted():
    """Yields a client, and a function that counts the requests for contacts so far."""
    with talentdata.Sandbox(records={"contacts": 1500}, policy="unlimited") as sandbox, sandbox.client() as client:
        yield client, lambda: sandbox.stats()["requests_by_path"].get("/v1/contacts", 0)


def test_engines_read_a_list_itself(client):
    contacts = client.contacts
    vacancies = client.vacancies  # noqa: F841
    assert duckdb.sql("select count(distinct id) from contacts").fetchall() == [(450,)]
    assert duckdb.sql("select count(*) from contacts, (select id from vacancies limit 2)").fetchall() == [(900,)]
    assert polars.DataFrame(contacts).height == len(pandas.DataFrame.from_arrow(contacts)) == 450
    assert (
        pyarrow.table(contacts).num_rows == pyarrow.RecordBatchReader.from_stream(contacts).read_all().num_rows == 450
    )
    table = contacts.to_arrow()
    assert table.num_rows == 450 and table.schema == pyarrow.schema(contacts)


def test_the_columns_are_requested_once_or_never_after_a_read(counted):
    client, requests = counted
    schema = pyarrow.schema(client.contacts)
    first = requests()
    assert first > 0
    assert pyarrow.schema(client.contacts) == schema and requests() == first
    assert pyarrow.table(client.contacts).schema == schema


def test_a_read_decides_the_columns_for_later_readers(counted):
    client, requests = counted
    table = pyarrow.table(client.contacts)
    read = requests()
    assert pyarrow.schema(client.contacts) == table.schema and requests() == read


def test_each_read_is_a_new_scan_with_the_same_columns(counted):
    client, requests = counted
    first, once = pyarrow.table(client.contacts), requests()
    second = pyarrow.table(client.contacts)
    assert second.equals(first) and requests() >= 2 * once - 2


def test_a_new_field_is_in_extra_once_the_columns_are_known():
    with (
        talentdata.Sandbox(records={"contacts": 30}, policy="unlimited", faults=True) as sandbox,
        sandbox.client() as client,
    ):
        known = pyarrow.schema(client.contacts)
        end = {"total": 1, "limit": 100, "offset": 0, "hasMore": False}
        body = {"contacts": [{"id": "1", "shoeSize": 43}], "pagination": end}
        sandbox.set_faults({"match": {"path": "/v1/contacts"}, "reply": {"body": body}})
        table = pyarrow.table(client.contacts)
        assert table.schema == known and "shoeSize" not in known.names
        assert '"shoeSize":43' in table["_extra"][0].as_py()


def test_an_unproven_list_ends_with_an_error_in_every_engine():
    with served("without order") as contacts:
        for read in (
            pyarrow.table,
            polars.DataFrame,
            pandas.DataFrame.from_arrow,
            lambda contacts: duckdb.sql("select id from contacts").fetchall(),
        ):
            with pytest.raises(Exception, match="it is not proven that they are all"):
                read(contacts)
        with pytest.warns(talentdata.IncompleteWarning):
            contacts.to_arrow()


async def test_an_asynchronous_list_is_awaited(sandbox):
    async with sandbox.async_client() as client:
        assert (await client.contacts.to_arrow()).num_rows == 450
        for read in (pyarrow.table, pyarrow.schema):
            with pytest.raises(talentdata.InvalidArgumentError, match=r"await its to_arrow\(\)"):
                read(client.contacts)
