"""Dask, Ray and Daft read lists that are not proven: a frame comes with a warning, a stream ends with an error, and the manual
asks the receipt before a file is read. `cargo xtask test engines` runs it."""

import pathlib

import daft
import dask.dataframe
import pyarrow
import pytest
import ray
from support import LISTS, served, unproven_sandbox, variables
from test_load import code

import talentdata

# The packages warn of things of their own.
pytestmark = pytest.mark.filterwarnings("ignore")

MANUAL = (pathlib.Path(__file__).parents[3] / "docs/engines.md").read_text()
DOUBTS = "contacts: .* it is not proven that they are all"

#: What makes a frame of an engine from a frame of ours, and counts its rows.
FRAMES = {
    "dask": lambda scan: len(dask.dataframe.from_pandas(scan.to_pandas(), npartitions=2)),
    "ray": lambda scan: ray.data.from_arrow(scan.to_arrow()).count(),
    "ray from pandas": lambda scan: ray.data.from_pandas(scan.to_pandas()).count(),
    "daft": lambda scan: daft.from_arrow(scan.to_arrow()).count_rows(),
    "daft from pandas": lambda scan: daft.from_pandas(scan.to_pandas()).count_rows(),
}
#: What reads a scan as it comes. Dask and Ray take no stream.
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
    # It gives up on itself after half a minute, which a busy machine may need.
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
    """Runs the first example of the manual, which exports a list of a sandbox and asks its receipt."""
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
    # Ray's workers have begun in another directory.
    path = str(pathlib.Path("contacts.parquet").absolute())
    for name, read in FILES.items():
        assert read(path) == ids, name
