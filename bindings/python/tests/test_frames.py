"""Data frames: each library takes the columns, and nothing is lost on the way."""

import pytest

import talentdata

pyarrow = pytest.importorskip("pyarrow", reason="told by the test of absent packages")


def test_columns_hold_what_records_hold(client):
    for resource in (client.contacts, client.vacancies, client.ja_tasks, client.taxonomy_skills):
        sent, table = list(resource.list()), resource.list().to_arrow()
        assert table.num_rows == len(sent) > 100 and table.schema.names[-1] == "_extra"
        for name in ("id", "name", "precededBy", "requiredSkills"):
            if name in table.column_names:
                assert table[name].to_pylist() == [record.get(name) for record in sent]
    flat = pytest.importorskip("pandas").json_normalize(map(dict, contacts := list(client.contacts.list())))
    assert list(flat["location.city"]) == [contact["location"]["city"] for contact in contacts]


def test_every_library_takes_the_scan_itself(client):
    polars, duckdb, pandas = pytest.importorskip("polars"), pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    assert pyarrow.table(client.contacts.list()).num_rows == 450
    reader = pyarrow.RecordBatchReader.from_stream(client.contacts.list())
    assert sum(batch.num_rows for batch in reader) == 450
    assert polars.DataFrame(client.contacts.list()).shape == (450, len(reader.schema))
    assert len(pandas.DataFrame.from_arrow(client.contacts.list())) == 450
    scan = client.contacts.list()  # noqa: F841
    assert duckdb.sql("select count(distinct id) from scan").fetchall() == [(450,)]
    assert duckdb.from_arrow(pyarrow.table(client.contacts.list())).count("*").fetchall() == [(450,)]


def test_pandas_keeps_integers_exact_beside_empty_cells(client):
    pandas = pytest.importorskip("pandas")
    frame = client.ja_tasks.list().to_pandas()
    records = list(client.ja_tasks.list())
    assert len(frame) == 230 and str(frame["id"].dtype) == "Int64"
    assert frame["id"].tolist() == [task["id"] for task in records]
    before = [task.get("precededBy") for task in records]
    assert None in before
    assert [None if value is pandas.NA else value for value in frame["precededBy"]] == before


def test_pandas_has_the_backend_that_is_asked_for(client):
    pandas = pytest.importorskip("pandas")
    arrow = client.contacts.list().to_pandas(dtype_backend="pyarrow")
    assert all(isinstance(dtype, pandas.ArrowDtype) for dtype in arrow.dtypes)
    cities = arrow["location"].struct.field("city").tolist()
    assert arrow["createdAt"].dt.year.min() >= 2019
    plain = client.contacts.list().to_pandas()
    assert [location["city"] for location in plain["location"]] == cities
    assert str(plain["createdAt"].dtype) == "datetime64[us, UTC]"
    assert len(plain.explode("tags")) == plain["tags"].map(lambda tags: max(len(tags), 1)).sum()
    nullable = client.contacts.list().to_pandas(dtype_backend="numpy_nullable")
    assert (str(nullable["matchScore"].dtype), str(nullable["externalRef"].dtype)) == ("Float64", "UInt64")
    with pytest.raises(talentdata.InvalidArgumentError, match="dtype_backend"):
        client.contacts.list().to_pandas(dtype_backend="arrow")


def test_what_has_failed_never_looks_empty(client, faults):
    faults({"match": {"path": "/v1/contacts", "from": 1}, "reply": {"status": 403}})
    for use in (lambda scan: scan.to_arrow(), pyarrow.table):
        scan = client.contacts.list()
        with pytest.raises(talentdata.ForbiddenError):
            use(scan)
        for again in (list, use):
            with pytest.raises(talentdata.InvalidArgumentError, match="has failed"):
                again(scan)


def test_a_conversion_that_fails_can_be_done_again(client, monkeypatch):
    scan = client.contacts.list()

    def fail(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pyarrow, "table", fail)
        with pytest.raises(KeyboardInterrupt):
            scan.to_arrow()
    assert (scan.receipt.records, scan.receipt.completeness) == (0, "unfinished")
    with pytest.raises(talentdata.InvalidArgumentError, match=r"to_arrow\(\).*continue"):
        list(scan)
    assert len(scan.to_pandas()) == 450
    assert (scan.receipt.records, scan.receipt.completeness) == (450, "proven")
    with pytest.raises(talentdata.InvalidArgumentError, match="has ended"):
        scan.to_pandas()


def test_a_stream_is_read_once(client):
    client.contacts.list().__arrow_c_stream__()  # released although nobody reads it
    scan = client.contacts.list()
    one, other = (pyarrow.RecordBatchReader.from_stream(scan) for _ in range(2))
    assert one.read_all().num_rows == scan.receipt.records == 450
    with pytest.raises(Exception, match=r"call to_arrow\(\) first"):
        other.read_all()
    with pytest.raises(talentdata.InvalidArgumentError, match=r"call to_arrow\(\) first"):
        pyarrow.table(scan)
