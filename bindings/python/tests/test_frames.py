"""Data frames: each library reads the columns without loss, and detects an incomplete stream. Lazy frames of Polars."""

import duckdb
import pandas
import polars
import pyarrow
import pytest

import talentdata


def test_every_library_reads_the_scan_itself(client):
    reader = pyarrow.RecordBatchReader.from_stream(client.contacts.list())
    assert sum(batch.num_rows for batch in reader) == pyarrow.table(client.contacts.list()).num_rows == 450
    assert polars.DataFrame(client.contacts.list()).shape == (450, len(reader.schema))
    assert len(pandas.DataFrame.from_arrow(client.contacts.list())) == 450
    scan = client.contacts.list()  # noqa: F841
    assert duckdb.sql("select count(distinct id) from scan").fetchall() == [(450,)]
    assert duckdb.from_arrow(pyarrow.table(client.contacts.list())).count("*").fetchall() == [(450,)]


def test_batches_have_the_requested_rows(client, tmp_path):
    def sizes(rows):
        return [batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(rows)]

    client.sync([client.contacts], tmp_path / "contacts.db")
    mirror = talentdata.Mirror(tmp_path / "contacts.db")
    for rows in (client.contacts.list(batch_rows=200), mirror.current("contacts", batch_rows=200)):
        assert sizes(rows) == [200, 200, 50]
    for wrong in (0, 1_048_577):
        with pytest.raises(
            talentdata.InvalidArgumentError, match="batch_rows: must be a number of records from 1 to 1048576"
        ):
            client.contacts.list(batch_rows=wrong)


def test_pandas_keeps_integers_exact_next_to_empty_cells(client):
    frame = client.ja_tasks.list().to_pandas()
    records = list(client.ja_tasks.list())
    assert len(frame) == 230 and str(frame["id"].dtype) == "Int64"
    assert frame["id"].tolist() == [task["id"] for task in records]
    before = [task.get("precededBy") for task in records]
    assert None in before
    assert [None if value is pandas.NA else value for value in frame["precededBy"]] == before


def test_pandas_uses_the_requested_backend(client):
    arrow = client.contacts.list().to_pandas(dtype_backend="pyarrow")
    assert all(isinstance(dtype, pandas.ArrowDtype) for dtype in arrow.dtypes)
    plain = client.contacts.list().to_pandas()
    assert [location["city"] for location in plain["location"]] == arrow["location"].struct.field("city").tolist()
    assert str(plain["createdAt"].dtype) == "datetime64[us, UTC]"
    nullable = client.contacts.list().to_pandas(dtype_backend="numpy_nullable")
    assert (str(nullable["matchScore"].dtype), str(nullable["externalRef"].dtype)) == ("Float64", "UInt64")


def test_common_attempts_work_or_the_error_names_the_solution(client):
    with pytest.raises(talentdata.InvalidArgumentError, match=r"to_pandas\(\)"):
        pandas.DataFrame(client.contacts.list())
    with pytest.raises(AttributeError, match=r'record\["createdAt"\]'):
        client.contacts.page(1)[0].created_at  # noqa: B018
    scan = client.contacts.list(limit=10)
    assert len(list(scan)) == 10 and scan.receipt.completeness == "limited"
    scan.receipt.require_proven()
    with (
        client.contacts.list() as scan,
        pytest.raises(talentdata.IncompleteError, match="contacts: the scan has not reached the end"),
    ):
        next(iter(scan))
        scan.receipt.require_proven()


def test_a_failed_conversion_can_be_repeated(client, monkeypatch):
    scan = client.contacts.list()

    def fail(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pyarrow, "table", fail)
        scan.to_arrow()
    assert (scan.receipt.records, scan.receipt.completeness) == (0, "unfinished")
    with pytest.raises(talentdata.InvalidArgumentError, match=r"to_arrow\(\).*continue"):
        list(scan)
    assert len(scan.to_pandas()) == 450
    assert (scan.receipt.records, scan.receipt.completeness) == (450, "proven")
    with pytest.raises(talentdata.InvalidArgumentError, match="has ended"):
        scan.to_pandas()


def test_a_stream_is_read_once(client):
    client.contacts.list().__arrow_c_stream__()  # released without a read
    scan = client.contacts.list()
    one, other = (pyarrow.RecordBatchReader.from_stream(scan) for _ in range(2))
    assert one.read_all().num_rows == scan.receipt.records == 450
    with pytest.raises(Exception, match=r"call to_arrow\(\) first"):
        other.read_all()
    with pytest.raises(talentdata.InvalidArgumentError, match=r"call to_arrow\(\) first"):
        pyarrow.table(scan)


def stays_failed(reader, words):
    for read in (reader.read_all, *[reader.read_next_batch] * 3):
        with pytest.raises(Exception, match=words):
            read()


def test_a_failed_stream_stays_failed(client, sandbox):
    sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 3}, "reply": {"status": 403}})
    reader = pyarrow.RecordBatchReader.from_stream(client.contacts.list(page_size=10))
    stays_failed(reader, "may not do this")


def test_a_stream_of_a_mirror_that_fails_in_the_middle_stays_failed(tmp_path):
    path = tmp_path / "mirror.db"
    with (
        talentdata.Sandbox(records={"contacts": 20_000}, policy="unlimited") as sandbox,
        sandbox.client(paced=False) as client,
    ):
        client.sync(["contacts"], path)
    reader = pyarrow.RecordBatchReader.from_stream(talentdata.Mirror(path).current("contacts"))
    assert reader.read_next_batch().num_rows > 0
    with open(path, "r+b") as file:
        # Only the first page of the database remains. Rows that were read before may still come.
        file.truncate(4096)
    stays_failed(reader, "mirror.db")


def test_each_query_of_polars_reads_the_list_and_only_the_columns_it_uses():
    with talentdata.Sandbox(records={"contacts": 1500}, policy="unlimited") as sandbox, sandbox.client() as client:
        contacts = talentdata.scan_polars("contacts", client=client)
        whole = client.contacts.list().to_polars()
        assert contacts.collect_schema() == whole.schema
        assert contacts.collect().equals(whole)
        chosen = contacts.filter(polars.col("firstName") == "Ada").select("lastName", "email")
        assert chosen.collect().equals(whole.filter(polars.col("firstName") == "Ada").select("lastName", "email"))
        assert contacts.select(polars.len()).collect().item() == 1500
        # `head` reads no more pages than it needs.
        requests = sandbox.stats()["requests_by_path"]["/v1/contacts"]
        assert contacts.head(7).collect().height == 7
        assert sandbox.stats()["requests_by_path"]["/v1/contacts"] - requests <= 2
        sandbox.change("contacts", delete=500)
        assert contacts.select(polars.len()).collect().item() == 1000
