"""Lists that Apache Spark with Java reads: one that changes while a worker dies, and unproven ones.

`cargo xtask test spark` runs these tests.
"""

import os
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from support import LISTS, assert_whole, unproven_sandbox

import talentdata
import talentdata.spark

# Py4J leaves its sockets to the garbage collector, which Python warns about.
pytestmark = pytest.mark.filterwarnings("ignore")

# Workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

#: The size of the list. Reading it takes about fifty seconds of the budget, which the workers share.
RECORDS = 200_000


class Dying(talentdata.spark.DataSource):
    """The data source, except that the first worker process exits after it has read rows."""

    @classmethod
    def name(cls):
        return "dying"

    def reader(self, schema):
        reader = super().reader(schema)
        return DyingReader(reader, os.environ["DYING_MARK"])


class DyingReader(talentdata.spark.DataSourceReader):
    def __init__(self, reader, mark):
        self.reader, self.mark = reader, mark

    def partitions(self):
        return self.reader.partitions()

    def read(self, partition):
        for batch in self.reader.read(partition):
            yield batch
            if not Path(self.mark).exists():
                Path(self.mark).write_text("died")
                os._exit(9)


@pytest.fixture(scope="module")
def mark(tmp_path_factory):
    """Returns the path of the file that marks that a worker died.

    Its path is set before the JVM starts, because the workers inherit the environment of the JVM.
    """
    path = tmp_path_factory.mktemp("mark") / "died"
    os.environ["DYING_MARK"] = str(path)
    return path


@pytest.fixture(scope="module")
def spark(mark):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # There are four threads, and a task may fail three times.
    builder = SparkSession.builder.master("local[4,4]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    yield session
    session.stop()


def of(sandbox, reader):
    """Returns a reader of the contacts of a sandbox."""
    names = ("base_url", "client_id", "client_secret")
    return reader.options(resource="contacts", **{name: getattr(sandbox, name) for name in names})


def test_a_worker_dies_while_the_list_changes(spark, mark, tmp_path):
    kept = tmp_path / "receipts"
    drift = {"every": 3, "inserts": 3, "deletes": 2}
    with talentdata.Sandbox(records={"contacts": RECORDS}, policy="clock-window", drift=drift) as sandbox:
        spark.dataSource.register(Dying)
        reader = of(sandbox, spark.read.format("dying")).option("receipts", str(kept))
        delivered = [row.id for row in reader.load().select("id").collect()]
        changes = sandbox.changes("contacts")
        stats = sandbox.stats()
    assert mark.read_text() == "died"
    assert stats["limited"] == 0 and stats["requests"] > RECORDS / 100
    assert_whole(delivered, changes, count=RECORDS, deletes=200)
    [receipt] = talentdata.spark.receipts(kept)
    assert receipt.completeness == "proven" and receipt.records == len(delivered)


# The faults that cut a list short apply to one scan only, and Spark first reads the columns with another scan.
@pytest.mark.parametrize("kind", [kind for kind in LISTS if kind != "cut short"])
def test_an_unproven_list_fails_its_task_unless_that_is_accepted(spark, kind):
    spark.dataSource.register(talentdata.spark.DataSource)
    with unproven_sandbox(kind) as sandbox:
        reader = of(sandbox, spark.read.format("talentdata"))
        with pytest.raises(Exception, match="it is not proven that they are all"):
            reader.load().collect()
        for unproven in ("warn", "accept"):
            assert reader.option("unproven", unproven).load().count() > 0
