"""The documents: links lead somewhere, and commands, examples and notebooks run as they stand and show what they should."""

import datetime
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

import talentdata

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
READMES = sorted([*(ROOT / "bindings").glob("*/README.md"), *(ROOT / "crates").glob("*/README.md")])


def anchors(page):
    """The anchors of the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *READMES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"], ids=str)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not link.startswith(("https://", "http://")):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def commands(page):
    """The commands in the code blocks of a page, without their comments."""
    lines = re.findall(r"^(?: {4})?(talentdata .+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [re.sub(r"\s+#.*", "", line) for line in lines if not line.startswith("talentdata sandbox ")]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_commands_run(page, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "talentdata"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m talentdata "$@"\n')
    program.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    with talentdata.Sandbox(records={"contacts": 150, "vacancies": 20}, policy="unlimited") as sandbox:
        monkeypatch.setenv("TALENTDATA_BASE_URL", sandbox.base_url)
        monkeypatch.setenv("TALENTDATA_CLIENT_ID", sandbox.client_id)
        monkeypatch.setenv("TALENTDATA_CLIENT_SECRET", sandbox.client_secret)
        with sandbox.client() as client:
            for _ in range(17):
                client.sync(["contacts"], "mirror.db")
                sandbox.change("contacts", update=1)
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        for command in commands(page):
            # The only time in the manual is that of a sync that had ended by then.
            command = command.replace("2026-11-20T06:00:00Z", now)
            ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
            assert ended.returncode == 0, f"{command}\n{ended.stderr}"


README = (ROOT / "bindings" / "python" / "README.md").read_text(encoding="utf-8")


def recipes():
    """The Python examples below the heading of recipes, by the library that each is for."""
    chapter = README.split("## Recipes\n", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"### (.+?)\n.*?```python\n(.*?)```", chapter, flags=re.DOTALL))


@pytest.mark.parametrize("library", recipes())
def test_a_recipe(library, client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(recipes()[library], library, "exec"), {"client": client})


def test_each_library_has_its_recipe():
    assert list(recipes()) == ["pandas", "Polars", "DuckDB", "Arrow", "ADBC"]


def test_the_first_six_chapters_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chapters = re.findall(r"^## (.+?)\n(.*?)(?=^## )", README, flags=re.DOTALL | re.MULTILINE)
    names = ["Lists", "Export, with progress and cancel", "Receipt", "Sync and changes", "Operations", "Errors"]
    assert [name for name, _ in chapters][:6] == names
    shared = {}
    for name, text in chapters:
        if name in [*names, "Logging"]:
            for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
                exec(compile(block, name, "exec"), shared)
    logging.getLogger("talentdata").setLevel(logging.NOTSET)
    shared["sandbox"].close()
    assert shared["second"].changes.delete == 2 and len(shared["now"]) == 998 and len(shared["before"]) == 1000
    assert {row["_op"] for row in shared["changes"].to_pylist()} == {"update", "delete"}


ENGINES = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")


def example(heading):
    chapter = ENGINES.split(f"\n## {heading}\n", 1)[1] if heading else ENGINES
    return re.search(r"```python\n(.*?)```", chapter, flags=re.DOTALL).group(1)


@pytest.fixture
def engine_service(monkeypatch):
    with talentdata.Sandbox(records={"contacts": 1200}, policy="unlimited") as sandbox:
        monkeypatch.setenv("TALENTDATA_BASE_URL", sandbox.base_url)
        monkeypatch.setenv("TALENTDATA_CLIENT_ID", sandbox.client_id)
        monkeypatch.setenv("TALENTDATA_CLIENT_SECRET", sandbox.client_secret)
        yield sandbox


def run_example(heading):
    names = {"__name__": "example"}
    exec(compile(example(heading), heading or "export", "exec"), names)
    return names


def test_polars(engine_service):
    names = run_example("Polars")
    assert names["few"].height == 10 and names["emails"].columns == ["id", "email"]


@pytest.mark.filterwarnings("ignore")
def test_dask_reads_the_file_of_an_export(engine_service, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_example(None)["receipt"].basis == "counted"
    assert run_example("Dask, Ray, Daft")["contacts"]["id"].nunique().compute() == 1200


NOTEBOOKS = ROOT / "bindings" / "python" / "notebooks"

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
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for source, words in SHOWN[name].items():
        [cell] = [cell for cell in cells if source in cell.source]
        assert words in str(cell.outputs).replace("\\'", "'"), (source, cell.outputs)
