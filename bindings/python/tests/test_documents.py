"""The documents: commands, examples and notebooks run unchanged, with the expected output.

`cargo xtask test docs` checks everything that needs no package: links, names, and words.
"""

import configparser
import datetime
import doctest
import json
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
NOTEBOOKS = sorted((ROOT / "bindings/python/notebooks").glob("*.ipynb"))


def shown(page, language):
    """Returns the code blocks of a page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page):
    """Returns the commands in the code blocks of a page, without their comments."""
    text = page.read_text(encoding="utf-8")
    scripts = "".join(block for block in shown(page, "sh") if not block.startswith("#!"))
    code = scripts + "\n".join(re.findall(r"^ {4}(.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE))
    lines = re.findall(r"^(talentdata .+)$", re.sub(r"\\\n *", "", code), flags=re.MULTILINE)
    return [re.sub(r"\s+#.*", "", line) for line in lines if not line.startswith("talentdata sandbox ")]


@pytest.fixture
def service(tmp_path, monkeypatch, environment):
    """A sandbox whose credentials are in the environment, and an empty working directory."""
    monkeypatch.chdir(tmp_path)
    with talentdata.Sandbox(records={"contacts": 150, "vacancies": 20}, policy="unlimited") as sandbox:
        environment(sandbox)
        yield sandbox


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_commands_run(page, service, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    noted = person = ""
    if any("mirror.db" in command for command in commands(page)):
        with service.client(paced=False) as client:
            for _ in range(17):
                [receipt] = client.sync(["contacts"], "mirror.db")
                service.change("contacts", update=1)
            noted = receipt.bookmark
        person, other, *_ = talentdata.Mirror("mirror.db").current("contacts").to_arrow()["id"].to_pylist()
        Path("ids.txt").write_text(f"{other}\n", encoding="utf-8")
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    # The commands that forget records run late, and those that forget a list last, because the others need it.
    for command in sorted(
        commands(page), key=lambda command: (" forget " in command) + ("forget contacts --from" in command)
    ):
        # The bookmark in the manual is a placeholder for a stored one.
        command = command.replace("9c41d0-51d2a7-5f2a03b8c6e1:17", noted).replace('"$bookmark"', noted)
        command = command.replace("--record ID", f"--record {person}")
        # The only time in the manual is a placeholder for a time after a sync.
        command = command.replace("2026-11-20T06:00:00Z", now)
        ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, f"{command}\n{ended.stderr}"


@pytest.mark.parametrize("page", [page for page in PAGES if shown(page, "pycon")], ids=lambda page: page.stem)
def test_python_prints_what_a_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = doctest.DocTestParser().get_doctest("".join(shown(page, "pycon")), {}, page.name, None, 0)
    assert blocks.examples
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(blocks).failed == 0


def without_figures(text):
    """Returns a text in which bookmarks, times and numbers are equal."""
    text = re.sub(r"[0-9a-f]{6}-[0-9a-f]{6}-[0-9a-f]{12}:\d+|[\dTZ:.-]*\d[\dTZ:.-]*", "0", text)
    return text.split()


@pytest.mark.parametrize("page", [page for page in PAGES if shown(page, "console")], ids=lambda page: page.stem)
def test_a_terminal_prints_what_a_page_shows(page, service, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    blocks = "".join(shown(page, "console"))
    for command, expected in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", blocks, re.MULTILINE):
        if change := re.fullmatch(r"curl .*/__drift\?list=(\w+)\" -d '(.*)'", command):
            # Not every machine has curl. The sandbox makes the same change.
            service.change(change[1], **json.loads(change[2]))
            continue
        command = ["sh", "-c", f"{command} 2>&1"]
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60).stdout
        assert without_figures(printed) == without_figures(expected), printed


def test_the_nightly_job_loads_the_list_and_then_its_changes(service, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    [script] = [block for block in shown(ROOT / "docs/nightly.md", "sh") if block.startswith("#!")]
    run_it = ["sh", "-c", script, "nightly", str(tmp_path)]
    assert subprocess.run(run_it).returncode == 0
    assert (tmp_path / "whole.csv").exists() and not (tmp_path / "changes.csv").exists()
    bookmark = (tmp_path / "bookmark").read_text(encoding="utf-8")
    service.change("contacts", update=1, delete=1)
    assert subprocess.run(run_it).returncode == 0
    assert (tmp_path / "changes.csv").read_text(encoding="utf-8").count("\n") == 3
    assert (tmp_path / "bookmark").read_text(encoding="utf-8") != bookmark
    # A bookmark of another mirror: the list is loaded as a whole again.
    (tmp_path / "mirror.db").unlink()
    assert subprocess.run(run_it).returncode == 0
    assert (tmp_path / "whole.csv").exists() and not (tmp_path / "changes.csv").exists()


def test_the_examples_of_the_nightly_job_can_be_read():
    page = ROOT / "docs/nightly.md"
    [airflow] = shown(page, "python")
    compile(airflow, "airflow", "exec")
    for unit in shown(page, "ini"):
        parsed = configparser.ConfigParser(strict=True)
        parsed.optionxform = str
        parsed.read_string(unit)
        assert parsed.sections()


def test_the_spreadsheet_of_the_questions_has_all_records(service):
    [block] = shown(ROOT / "docs/faq.md", "python")
    pandas = pytest.importorskip("pandas")
    written = []
    with pytest.MonkeyPatch.context() as patch:
        # openpyxl is not among the packages of the tests. Excel accepts neither times with a zone nor nested values.
        patch.setattr(pandas.DataFrame, "to_excel", lambda frame, *_, **__: written.append(frame))
        run([block])
    [frame] = written
    assert len(frame) == 150 and not any(isinstance(value, dict | list) for value in frame.iloc[0])
    assert str(frame["createdAt"].dtype).startswith("datetime64[") and frame["createdAt"].dt.tz is None
    assert max(len(number) for number in frame["externalRef"].dropna()) > 15


def python_blocks(page):
    """Returns the Python examples of a page, by their headings."""
    found, heading = {}, None
    for title, block in re.findall(
        r"^#+ (.+?)$|^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        heading = title or heading
        if block:
            found.setdefault(heading, []).append(block)
    return found


README = python_blocks(ROOT / "bindings" / "python" / "README.md")
ENGINES = python_blocks(ROOT / "docs" / "engines.md")
SQL = ["A list in DuckDB", "The ADBC driver", "A mirror"]
CHAPTERS = ["Lists", "Export, with progress and cancel", "Receipt", "Sync and changes", "Operations", "Errors"]


def run(blocks, **names):
    for block in blocks:
        exec(compile(block, "example", "exec"), names)
    return names


@pytest.mark.parametrize("library", ["pandas", "Polars", "DuckDB", "Arrow", "ADBC"])
def test_a_recipe(library, client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(README[library], client=client)


def test_the_first_six_chapters_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list(README)[:6] == CHAPTERS
    shared = run(block for chapter in [*CHAPTERS, "Logging"] for block in README[chapter])
    logging.getLogger("talentdata").setLevel(logging.NOTSET)
    shared["sandbox"].close()
    assert shared["second"].changes.delete == 2 and len(shared["now"]) == 998 and len(shared["before"]) == 1000
    assert {row["_op"] for row in shared["table"].to_pylist()} == {"update", "delete"}


@pytest.mark.filterwarnings("ignore")
def test_engines(service):
    [export], [unproven], [polars], [dask] = (ENGINES[heading] for heading in list(ENGINES) if heading != "Spark")
    assert run([export])["receipt"].basis == "counted"
    assert run([unproven])["scan"].receipt.records == 150
    assert run([dask])["contacts"]["id"].nunique().compute() == 150
    names = run([polars])
    assert names["few"].height == 10 and names["emails"].columns == ["id", "email"]


def test_sql(service):
    [lists, driver, mirror] = (python_blocks(ROOT / "docs" / "sql.md")[heading] for heading in SQL)
    assert run(lists)["vacancies"].num_rows == 20
    assert run(driver)["emails"].column_names == ["id", "email"]
    assert sum(run(mirror)["names"]["people"].to_pylist()) == 150


def outputs(cell):
    """Returns the outputs of a cell as texts without numbers, because some are times."""
    shown = [one.get("text") or json.dumps(one.get("data"), sort_keys=True) for one in cell.get("outputs", [])]
    return [re.sub(r"[0-9.]+", "0", text) for text in shown]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook(path):
    notebook = nbformat.read(path, as_version=4)
    stored = [outputs(cell) for cell in notebook.cells]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    if any(stored):
        assert [outputs(cell) for cell in notebook.cells] == stored
        return
    # The metadata of a cell has a text that its output must contain: words or a diagram.
    cells = [cell for cell in notebook.cells if "shows" in cell.metadata]
    assert len(cells) >= 6
    for cell in cells:
        assert cell.metadata["shows"] in str(cell.outputs).replace("\\'", "'"), (cell.source, cell.outputs)
