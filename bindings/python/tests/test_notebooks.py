"""The notebooks run headless, and their cells show what they should."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

DIRECTORY = Path(__file__).parent.parent / "notebooks"

#: What the cell with a text in its source shows: words, or a diagram.
SHOWN = {
    "first_steps.ipynb": {
        "client.version()": "'companies': CategoryStatus('alpha')",
        "page = ": "records from offset 0",
        "vacancies = scan.to_pandas()": "(900, ",
        "scan.receipt": "proven",
        "axes.barh": "image/png",
        "resample": "image/png",
        "limit=1000": "limit must be between 1 and 100 (got 1000)",
    },
    "bulk_scan.ipynb": {
        "contacts = scan.to_polars()": "(12000, ",
        "budget_used": "12000 records in",
        "slow.receipt.records": "(4000, Completeness('proven'))",
        "axes.bar(": "image/png",
        'unnest("languages")': "native",
        "read_parquet": "True",
    },
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook(name):
    notebook = nbformat.read(DIRECTORY / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for source, words in SHOWN[name].items():
        [cell] = [cell for cell in cells if source in cell.source]
        assert words in str(cell.outputs).replace("\\'", "'"), (source, cell.outputs)
