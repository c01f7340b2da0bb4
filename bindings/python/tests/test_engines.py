"""The examples of docs/engines.md run as they stand, those of engines that the tests have."""

import re
from pathlib import Path

import pytest

import talentdata

DOCUMENT = (Path(__file__).parents[3] / "docs" / "engines.md").read_text(encoding="utf-8")


def example(heading):
    chapter = DOCUMENT.split(f"\n## {heading}\n", 1)[1] if heading else DOCUMENT
    return re.search(r"```python\n(.*?)```", chapter, flags=re.DOTALL).group(1)


@pytest.fixture
def sandbox(monkeypatch):
    with talentdata.Sandbox(records={"contacts": 1200}, policy="unlimited") as sandbox:
        monkeypatch.setenv("TALENTDATA_BASE_URL", sandbox.base_url)
        monkeypatch.setenv("TALENTDATA_CLIENT_ID", sandbox.client_id)
        monkeypatch.setenv("TALENTDATA_CLIENT_SECRET", sandbox.client_secret)
        yield sandbox


def run(heading):
    names = {"__name__": "example"}
    exec(compile(example(heading), heading or "export", "exec"), names)
    return names


def test_polars(sandbox):
    names = run("Polars")
    assert names["few"].height == 10 and names["emails"].columns == ["id", "email"]


@pytest.mark.filterwarnings("ignore")
def test_dask_reads_the_file_of_an_export(sandbox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(None)["receipt"].basis == "counted"
    assert run("Dask, Ray, Daft")["contacts"]["id"].nunique().compute() == 1200
