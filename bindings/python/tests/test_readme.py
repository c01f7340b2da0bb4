"""The examples of the README run as they stand."""

import logging
import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")

pytest.importorskip("adbc_driver_manager")
pytest.importorskip("pandas")
pytest.importorskip("duckdb")
pytest.importorskip("polars")


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
