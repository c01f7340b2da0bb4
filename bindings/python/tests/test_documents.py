"""The documents: links have targets, and commands, examples and notebooks run unchanged, with the expected output."""

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
READMES = sorted([*(ROOT / "bindings").glob("*/README.md"), *(ROOT / "crates").glob("*/README.md")])


def anchors(page):
    """Returns the anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", without_code(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_code(page):
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_links_have_targets():
    for page in {*PAGES, *READMES, *ROOT.glob("*.md"), *(ROOT / "docs/design").glob("*.md")}:
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
            if not link.startswith(("https://", "http://")):
                path, _, anchor = link.partition("#")
                target = page.parent / path if path else page
                assert target.exists(), (page, link)
                assert not anchor or anchor in anchors(target), (page, link)


#: All pages, for the checks of words and names.
ALL_PAGES = sorted(
    {*PAGES, *READMES, *ROOT.glob("*.md"), *(ROOT / "docs/design").glob("*.md")} - {ROOT / "CHANGELOG.md"}
)


def sources(*patterns):
    """Returns the texts of source files by their paths."""
    return {path: path.read_text(encoding="utf-8") for pattern in patterns for path in ROOT.glob(pattern)}


def defines(path, text, owner, member):
    """Returns whether a source file defines a member of a type, a namespace or a module."""
    kind = r"\b(?:struct|enum|trait|class|namespace|impl(?:<.*?>)?)"
    if not re.search(rf"{kind} (?:\w+ for )?{owner}\b", text) and owner not in (path.stem, *path.parent.parts):
        return False
    item = rf"\b(?:fn|struct|enum|trait|class|type|mod|using) {member}\b|^\s*(?:pub )?{member}\b *[:,({{]"
    in_headers = rf"|\b{member}\(" if path.suffix == ".hpp" else ""
    return re.search(item + in_headers, text, flags=re.MULTILINE) is not None


def test_rust_and_cpp_names_in_pages_exist():
    files = sources("crates/*/src/**/*.rs", "bindings/c/include/**/*.hpp")
    missing = []
    for page in ALL_PAGES:
        for code in re.findall(r"`([^`\n]+)`", without_code(page)):
            for path in re.findall(r"\w+(?:::\w+)+(?:\.\w+)?", code):
                owner, member = path.partition(".")[0].split("::")[-2:]
                found = owner == "std" or any(defines(*file, owner, member) for file in files.items())
                if not found:
                    missing.append((page.name, path))
    assert missing == []


def test_c_names_and_variables_in_pages_exist():
    code = sources(
        "bindings/c/include/**/*.h", "bindings/python/talentdata/*.py", "crates/*/src/**/*.rs", "crates/*/Cargo.toml"
    )
    known = set(re.findall(r"\w+", "\n".join(code.values()).replace("-", "_")))
    # The variables of settings are made from the names in the table.
    known |= {
        f"TALENTDATA_{name.upper()}"
        for name in re.findall(r'(?:name:|&str =) "(\w+)"', code[ROOT / "crates/core/src/settings/table.rs"])
    }
    shown = {
        (page.name, name)
        for page in ALL_PAGES
        for name in re.findall(r"\b(?:talentdata|TALENTDATA)_\w+", page.read_text(encoding="utf-8"))
    }
    assert shown and [one for one in sorted(shown) if one[1] not in known] == []


def test_pages_cite_no_document_that_readers_do_not_have():
    cited = re.compile(r"service document|\bsections? \d", re.IGNORECASE)
    # ARCHITECTURE.md is for those who change the transcription of that document.
    pages = [page for page in ALL_PAGES if page.name != "ARCHITECTURE.md"]
    assert [page.name for page in pages if cited.search(page.read_text(encoding="utf-8"))] == []


def test_the_c_page_links_to_every_example():
    page = ROOT / "bindings/c/README.md"
    examples = {path.name for path in (page.parent / "examples").glob("*.c*")}
    assert examples and examples == set(re.findall(r"\]\(examples/([^)]+)\)", page.read_text(encoding="utf-8")))


def test_the_page_of_settings_has_every_note():
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    notes = re.findall(
        r'note: "((?:[^"\\]|\\.)+)"', (ROOT / "crates/core/src/settings/table.rs").read_text(encoding="utf-8")
    )
    assert len(notes) > 9 and [note for note in notes if note.replace('\\"', '"') not in page] == []


def commands(page):
    """Returns the commands in the code blocks of a page, without their comments."""
    lines = re.findall(r"^(?: {4})?(talentdata .+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [re.sub(r"\s+#.*", "", line) for line in lines if not line.startswith("talentdata sandbox ")]


def test_the_example_of_the_readme_is_the_file_that_is_compiled():
    [(path, shown)] = re.findall(
        r"<!-- example (.+?) -->\n```rust\n(.*?)```", PAGES[0].read_text(encoding="utf-8"), re.DOTALL
    )
    assert (ROOT / path).read_text(encoding="utf-8") == shown


def test_the_readme_shows_what_python_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "".join(re.findall(r"```pycon\n(.*?)```", PAGES[0].read_text(encoding="utf-8"), re.DOTALL))
    shown = doctest.DocTestParser().get_doctest(text, {}, "README.md", None, 0)
    assert shown.examples
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(shown).failed == 0


def test_pictures_show_the_measurements():
    sys.path.insert(0, str(ROOT / "xtask/tools"))
    import pictures

    assert pictures.outdated() == []


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
