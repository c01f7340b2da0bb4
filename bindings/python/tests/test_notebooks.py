"""The notebooks run headless, and their cells show what they should."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

DIRECTORY = Path(__file__).parent.parent / "notebooks"


@pytest.fixture(scope="module")
def executed():
    """Runs a notebook once; what each cell with code shows, as (source, text, kinds of output)."""
    done = {}

    def run(name):
        if name not in done:
            notebook = nbformat.read(DIRECTORY / name, as_version=4)
            nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
            done[name] = [cell for cell in notebook.cells if cell.cell_type == "code"]
        return done[name]

    return run


def shown(cells, source):
    """What the cell with this text in its source shows, by kind of output."""
    [cell] = [cell for cell in cells if source in cell.source]
    kinds = {}
    for output in cell.outputs:
        if output.output_type == "stream":
            kinds[output.name] = kinds.get(output.name, "") + output.text
        else:
            kinds.update(output.data)
    return kinds


@pytest.mark.filterwarnings("default")
def test_first_steps(executed):
    cells = executed("first_steps.ipynb")
    assert "http://127.0.0.1" in shown(cells, "import talentdata")["text/plain"]
    assert "'companies': CategoryStatus('alpha')" in shown(cells, "client.version()")["text/plain"]
    assert "records from offset 0" in shown(cells, "page = ")["text/plain"]
    assert "jobTitle" in shown(cells, "contact = page[0]")["text/plain"]
    assert shown(cells, "vacancies = scan.to_pandas()")["text/plain"].startswith("(900, ")
    assert "proven" in shown(cells, "scan.receipt")["text/plain"]
    assert len(shown(cells, "axes.barh")["image/png"]) > 5_000
    assert "soft" in shown(cells, "crosstab")["text/html"]
    assert len(shown(cells, "resample")["image/png"]) > 5_000
    assert "fr" in shown(cells, 'contacts["languages"].explode()')["text/plain"]
    assert "limit must be between 1 and 100 (got 1000)" in shown(cells, "limit=1000")["stdout"]


@pytest.mark.filterwarnings("default")
def test_bulk_scan(executed):
    cells = executed("bulk_scan.ipynb")
    table = shown(cells, "contacts = scan.to_polars()")
    assert table["text/plain"].startswith("(12000, ")
    bar = {**table, "stderr": table.get("stderr", "")}
    assert "12000" in bar["stderr"] or "application/vnd.jupyter.widget-view+json" in bar
    assert "12000 records in" in shown(cells, "budget_used")["stdout"]
    assert shown(cells, "slow.receipt.records")["text/plain"] == "(4000, Completeness('proven'))"
    assert len(shown(cells, "axes.bar(")["image/png"]) > 5_000
    assert "native" in shown(cells, 'unnest("languages")')["text/html"]
    assert len(shown(cells, "axes.step(")["image/png"]) > 5_000
    assert "soft" in shown(cells, "required.join(")["text/html"]
    assert shown(cells, "read_parquet")["text/plain"] == "True"
