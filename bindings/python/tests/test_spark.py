"""Lists as data frames of Spark, even while they change. Sail runs the queries, without a JVM."""

import os

import pysail.spark
import pytest
from pyspark.sql import SparkSession
from support import assert_whole

import talentdata
import talentdata.spark


@pytest.fixture(scope="module")
def spark():
    server = pysail.spark.SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    host, port = server.listening_address
    session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
    session.dataSource.register(talentdata.spark.DataSource)
    yield session
    session.stop()
    server.stop()


def load(spark, **options):
    return spark.read.format("talentdata").options(**options).load()


def test_a_changing_list_is_read_completely(spark, environment, tmp_path):
    drift = {"every": 3, "inserts": 3, "deletes": 2}
    with talentdata.Sandbox(records={"contacts": 10_000}, policy="unlimited", drift=drift) as sandbox:
        environment(sandbox)
        contacts = load(spark, resource="contacts", receipts=str(tmp_path))
        delivered = contacts.select("id").toArrow()["id"].to_pylist()
        changes = sandbox.changes("contacts")
    assert_whole(delivered, changes, count=10_000, deletes=50)
    [receipt] = talentdata.spark.receipts(tmp_path)
    assert receipt.completeness == "proven" and receipt.records == len(delivered)


def test_columns_are_those_of_the_list(spark, environment):
    with talentdata.Sandbox(records={"ja_tasks": 300}, policy="unlimited") as sandbox, sandbox.client() as client:
        environment(sandbox)
        table = client.ja_tasks.list().to_arrow()
        tasks = load(spark, resource="ja_tasks")
        rows = tasks.toArrow()
        assert tasks.columns == table.column_names
        for name in table.column_names:
            assert [str(one) for one in rows[name].to_pylist()] == [str(one) for one in table[name].to_pylist()], name
        assert tasks.where(tasks.id == table["id"][7].as_py()).count() == 1


def test_an_unproven_list_fails_its_task_unless_that_is_accepted(spark, environment):
    with pytest.raises(Exception, match="no list is named"):
        load(spark, resource="people").toArrow()
    with talentdata.Sandbox(records={"pools": 200}, policy="unlimited", order="random") as sandbox:
        environment(sandbox)
        with pytest.raises(Exception, match="not proven"):
            load(spark, resource="pools").toArrow()
        assert load(spark, resource="pools", unproven="accept").toArrow().num_rows > 0
        with pytest.warns(talentdata.IncompleteWarning, match="pools: .* not proven"):
            assert load(spark, resource="pools", unproven="warn").toArrow().num_rows > 0


def test_a_task_that_dies_runs_again_and_counts_once(environment, tmp_path):
    """Pickles the reader of a task, stops it in the middle, and reads the list again, as engines do."""
    from cloudpickle import dumps, loads

    with talentdata.Sandbox(records={"contacts": 2000}, policy="unlimited") as sandbox:
        environment(sandbox)
        source = talentdata.spark.DataSource({"resource": "contacts", "receipts": str(tmp_path)})
        reader = source.reader(source.schema())
        [partition] = reader.partitions()
        assert sandbox.client_secret.encode() not in dumps(reader) + dumps(partition)
        worker, part = loads(dumps(reader)), loads(dumps(partition))
        dying = worker.read(part)
        next(dying)
        dying.close()
        ids = [one for batch in worker.read(part) for one in batch["id"].to_pylist()]
    assert len(set(ids)) == len(ids) == 2000
    [receipt] = talentdata.spark.receipts(tmp_path)
    assert receipt.basis == "counted" and os.listdir(tmp_path) == ["contacts.json"]
