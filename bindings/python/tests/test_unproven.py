"""Lists that were read to their end without a proof of completeness: each reader fails or warns."""

import sys
import warnings

import adbc_driver_sqlite.dbapi
import arro3.core
import duckdb
import pandas
import polars
import pyarrow
import pytest
from support import LISTS, python, served, until

import talentdata

#: Patterns of messages: the doubts, the advice of errors and warnings, and more advice for a stream without the option.
DOUBTS = r"contacts: \d+ records were received, and it is not proven that they are all: .*; "
ACCEPT = r'keep the list in a mirror with sync\(\), or accept it with unproven="accept"'
FRAMES_TOO = r"call to_polars\(\), to_arrow\(\) or to_pandas\(\), which keep the rows and warn, "


@pytest.fixture
def contacts():
    with served("without order") as contacts:
        yield contacts


def ingest(scan):
    with adbc_driver_sqlite.dbapi.connect(":memory:") as connection, connection.cursor() as cursor:
        return range(cursor.adbc_ingest("contacts", scan))


#: Functions that read a scan by the Arrow PyCapsule protocol and return all rows.
STREAMS = {
    "pyarrow": pyarrow.table,
    "batches": lambda scan: pyarrow.RecordBatchReader.from_stream(scan).read_all(),
    "arro3": lambda scan: arro3.core.RecordBatchReader.from_stream(scan).read_all(),
    "polars": polars.DataFrame,
    "pandas": pandas.DataFrame.from_arrow,
    "duckdb": lambda scan: duckdb.sql("select id from scan").fetchall(),
    "adbc": ingest,
}
FRAMES = {name: getattr(talentdata.Scan, name) for name in ("to_arrow", "to_polars", "to_pandas")}
#: A schema that every reader supports.
ID = pyarrow.schema([("id", pyarrow.string())])


@pytest.mark.parametrize("kind", LISTS)
def test_a_frame_comes_with_a_warning_and_a_stream_with_an_error(kind):
    with served(kind) as contacts:
        scan = contacts.list()
        with pytest.warns(talentdata.IncompleteWarning, match=DOUBTS + ACCEPT) as issued:
            frame = scan.to_polars()
        assert len(issued) == 1 and scan.receipt.completeness == "not_proven" and scan.receipt.doubts
        assert frame.height == scan.receipt.records > 0 and f"{frame.height} records were received" in str(
            issued[0].message
        )
    with served(kind) as contacts:
        scan = contacts.list()
        with pytest.raises(Exception, match=DOUBTS + FRAMES_TOO + ACCEPT):
            pyarrow.table(scan)
        assert scan.receipt.completeness == "not_proven" and scan.receipt.records > 0


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_ends_as_the_option_says(name, contacts):
    for unproven in (None, "warn"):
        with pytest.warns(talentdata.IncompleteWarning) as issued:
            assert len(FRAMES[name](contacts.list(unproven=unproven))) > 0
        assert len(issued) == 1
    assert len(FRAMES[name](contacts.list(unproven="accept"))) > 0
    with pytest.raises(talentdata.IncompleteError, match=DOUBTS + ACCEPT):
        FRAMES[name](contacts.list(unproven="fail"))


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_ends_as_the_option_says(name, contacts):
    for unproven in (None, "fail"):
        with pytest.raises(Exception, match=DOUBTS):
            STREAMS[name](contacts.list(schema=ID, unproven=unproven))
    assert len(STREAMS[name](contacts.list(schema=ID, unproven="accept"))) > 0
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        assert len(STREAMS[name](contacts.list(schema=ID, unproven="warn"))) > 0
        # If an engine reads on its own thread, another thread issues the warning, perhaps later.
        until(lambda: issued)
    assert [one.category for one in issued] == [talentdata.IncompleteWarning]


def test_a_warning_is_for_the_line_that_requested_the_rows(contacts):
    with pytest.warns(talentdata.IncompleteWarning) as issued:
        contacts.list().to_polars()
        contacts.list().to_arrow()
        pandas.DataFrame.from_arrow(contacts.list(unproven="warn"))
        list(contacts.list(unproven="warn"))
        line = sys._getframe().f_lineno
    assert [(one.filename, one.lineno) for one in issued] == [(__file__, line - back) for back in (4, 3, 2, 1)]


NIGHTLY = """
import talentdata, warnings
warnings.showwarning = lambda message, category, file, line, *_: print(category.__name__, file, line)
with talentdata.Sandbox(records={"contacts": 300}, policy="unlimited", ignore_offset=True) as sandbox, sandbox.client() as client:
    for night in range(2):
        client.contacts.list().to_polars()
"""


def test_the_same_line_warns_each_time():
    assert python(NIGHTLY) == "IncompleteWarning <string> 6\n" * 2


def test_a_filter_turns_a_warning_into_an_error_and_the_frame_stays_available(contacts):
    scan = contacts.list()
    with pytest.raises(talentdata.IncompleteWarning, match=DOUBTS):
        scan.to_arrow()
    assert scan.to_polars().height == scan.receipt.records > 0
    with pytest.raises(Exception, match=DOUBTS):
        pyarrow.table(contacts.list(unproven="warn"))


def test_a_reader_that_stops_early_or_at_its_limit_needs_no_proof(contacts):
    reader = pyarrow.RecordBatchReader.from_stream(contacts.list())
    assert reader.read_next_batch().num_rows > 0
    del reader
    assert pyarrow.table(contacts.list(limit=150)).num_rows == contacts.list(limit=150).to_polars().height == 150
    scan = contacts.list()  # noqa: F841
    assert len(duckdb.sql("select id from scan limit 5").fetchall()) == 5


def test_iteration_neither_warns_nor_fails_by_default(contacts):
    for unproven in (None, "accept"):
        scan = contacts.list(unproven=unproven)
        assert len(list(scan)) == scan.receipt.records > 0 and scan.receipt.completeness == "not_proven"
    scan = contacts.list(unproven="fail")
    with pytest.raises(talentdata.IncompleteError, match=DOUBTS):
        list(scan)
    assert scan.receipt.records > 0


async def test_an_asynchronous_client_ends_in_the_same_ways():
    with talentdata.Sandbox(records={"contacts": 300}, policy="unlimited", order="random") as sandbox:
        async with sandbox.async_client(paced=False) as client:
            with pytest.warns(talentdata.IncompleteWarning) as issued:
                await client.contacts.list().to_polars()
                [record async for record in client.contacts.list(unproven="warn")]
                line = sys._getframe().f_lineno
            assert [(one.filename, one.lineno) for one in issued] == [(__file__, line - 2), (__file__, line - 1)]
            with pytest.raises(talentdata.IncompleteError, match=DOUBTS):
                await client.contacts.list(unproven="fail").to_arrow()
            with pytest.raises(talentdata.IncompleteError, match=DOUBTS):
                [record async for record in client.contacts.list(unproven="fail")]
            assert [record async for record in client.contacts.list()]


def test_a_query_of_polars_ends_as_the_option_says(contacts):
    def query(**options):
        return talentdata.scan_polars("contacts", client=contacts._client, **options).select("id")

    for options in ({}, {"unproven": "fail"}):
        with pytest.raises(talentdata.IncompleteError, match=DOUBTS + ACCEPT):
            query(**options).collect()
    assert query(unproven="accept").collect().height > query().head(7).collect().height == 7
    with pytest.warns(talentdata.IncompleteWarning, match=DOUBTS + ACCEPT) as issued:
        query(unproven="warn").collect()
    assert len(issued) == 1


def test_a_file_comes_with_a_warning(contacts, tmp_path):
    with pytest.warns(talentdata.IncompleteWarning, match=DOUBTS.removesuffix("; ")) as issued:
        receipt = contacts.export(tmp_path / "contacts.jsonl")
    assert len(issued) == 1 and issued[0].filename == __file__ and receipt.completeness == "not_proven"


def test_a_field_that_no_record_had_comes_with_a_warning(client, tmp_path):
    for read in (
        lambda drop: client.pools.export(tmp_path / "pools.jsonl", drop=drop),
        lambda drop: client.sync(["pools"], tmp_path / "pools.db", drop=drop),
        lambda drop: client.pools.list(drop=drop).to_polars(),
    ):
        with pytest.warns(UserWarning, match="pools: no record had nmae, which fields, drop or hash names"):
            read(["nmae"])
