"""Dask, Ray and Daft with unproven lists: a frame comes with a warning, and a stream ends with an error.

The example of the manual checks the receipt before it reads a file. `cargo xtask test engines` runs these tests.
"""

import pathlib

import daft
import dask.dataframe
import pyarrow
import pytest
import ray
from support import LISTS, served, unproven_sandbox, variables
from test_load import code

import talentdata

# The packages issue their own warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

MANUAL = (pathlib.Path(__file__).parents[3] / "docs/engines.md").read_text()
DOUBTS = "contacts: .* it is not proven that they are all"

#: Functions that convert our frame to a frame of an engine, and count its rows.
FRAMES = {
    "dask": lambda scan: len(dask.dataframe.from_pandas(scan.to_pandas(), npartitions=2)),
    "ray": lambda scan: ray.data.from_arrow(scan.to_arrow()).count(),
    "ray from pandas": lambda scan: ray.data.from_pandas(scan.to_pandas()).count(),
    "daft": lambda scan: daft.from_arrow(scan.to_arrow()).count_rows(),
    "daft from pandas": lambda scan: daft.from_pandas(scan.to_pandas()).count_rows(),
}
#: Functions that read a scan as a stream. Dask and Ray cannot.
STREAMS = {
    "daft": lambda scan: daft.from_arrow(scan).count_rows(),
    "daft from a reader": lambda scan: daft.from_arrow(pyarrow.RecordBatchReader.from_stream(scan)).count_rows(),
}
FILES = {
    "dask": lambda path: list(dask.dataframe.read_parquet(path)["id"].compute()),
    "ray": lambda path: [row["id"] for row in ray.data.read_parquet(path).take_all()],
    "daft": lambda path: daft.read_parquet(path).to_pydict()["id"],
}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    options = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
    # Ray aborts its start after half a minute, and a busy machine may need longer. So the start is repeated.
    for left in reversed(range(5)):
        try:
            ray.init(address="local", num_cpus=1, **options)
            break
        except Exception:
            ray.shutdown()
            if not left:
                raise
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_comes_with_a_warning(name, kind):
    with served(kind) as contacts:
        scan = contacts.list()
        with pytest.warns(talentdata.IncompleteWarning, match=DOUBTS) as issued:
            rows = FRAMES[name](scan)
        assert rows == scan.receipt.records > 0
        assert sum(one.category is talentdata.IncompleteWarning for one in issued) == 1


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_ends_with_an_error(name, kind):
    with served(kind) as contacts, pytest.raises(Exception, match=DOUBTS):
        STREAMS[name](contacts.list())


@pytest.fixture
def manual(tmp_path, monkeypatch):
    """A function that runs the first example of the manual: it exports a list and checks its receipt."""
    monkeypatch.chdir(tmp_path)

    def run(sandbox):
        for name, value in variables(sandbox).items():
            monkeypatch.setenv(name, value)
        [export] = code(None, "python", MANUAL)
        exec(export, {})  # noqa: S102

    return run


@pytest.mark.parametrize("kind", LISTS)
def test_the_manual_stops_before_a_file_is_read(kind, manual):
    with unproven_sandbox(kind) as sandbox, pytest.raises(talentdata.IncompleteError, match="it is not proven"):
        manual(sandbox)
    assert pathlib.Path("contacts.parquet").exists()


def test_the_file_of_a_proven_list_is_read_whole(manual):
    with talentdata.Sandbox(records={"contacts": 300}, policy="unlimited") as sandbox:
        manual(sandbox)
        with sandbox.client(paced=False) as client:
            ids = [contact.id for contact in client.contacts.list()]
    # Ray's workers run in another directory.
    path = str(pathlib.Path("contacts.parquet").absolute())
    for name, read in FILES.items():
        assert read(path) == ids, name
