"""Progress: a line on a terminal, one output in a notebook, a function of the program, or nothing."""

from __future__ import annotations

import sys

import nbclient
import nbformat
import pytest

import talentdata
from talentdata import _progress


class Work:
    """A scan whose progress the test sets."""

    def __init__(self) -> None:
        self.read: tuple[int, int | None] = (0, None)

    def progress(self) -> tuple[int, int | None]:
        return self.read


class Screen:
    """Records the text that is shown."""

    interval = 0.0

    def __init__(self) -> None:
        self.shown: list[tuple[str, float | None]] = []

    def show(self, text: str, done: float | None) -> None:
        self.shown.append((text, done))

    def end(self, text: str) -> None:
        self.shown.append((text, None))


def test_it_says_connecting_before_the_first_page_and_a_full_bar_is_a_whole_list():
    work, screen = Work(), Screen()
    bar = _progress.Bar(work, "contacts", screen)
    bar()
    for read in ((0, 300), (75, 300), (80, 70), (80, None), (300, 300)):
        work.read = read
        bar()
    texts = [text.partition(" records,")[0] for text, _ in screen.shown]
    assert texts[:2] == ["contacts: connecting to the service"] * 2
    numbers = ["0 of 300", "75 of 300", "80", "80", "300 of 300"]
    assert texts[2:] == [f"contacts: {number}" for number in numbers]
    assert [done for _, done in screen.shown] == [None, None, 0, 0.25, None, None, 1]
    bar.close()
    bar.close()
    bar()
    assert len(screen.shown) == 8 and screen.shown[-1][0].startswith("contacts: 300 records in ")


def test_work_that_read_nothing_does_not_say_0_records():
    work, screen = Work(), Screen()
    _progress.Bar(work, "contacts", screen).close()
    assert screen.shown[-1] == ("contacts: nothing was read", None)
    work.read = (0, 0)
    _progress.Bar(work, "contacts", screen).close()
    assert screen.shown[-1][0].startswith("contacts: 0 records in ")


def test_a_function_receives_the_records_and_the_total(client, tmp_path):
    for use in (
        lambda told: list(client.contacts.list(progress=told)),
        lambda told: client.contacts.list(progress=told).to_arrow(),
        lambda told: client.contacts.export(tmp_path / "c.jsonl", progress=told),
        lambda told: client.sync(["contacts"], tmp_path / "m.db", progress=told),
    ):
        calls: list[tuple[int, int | None]] = []
        use(lambda records, total, calls=calls: calls.append((records, total)))
        assert calls[-1] == (450, 450) and calls == sorted(set(calls)) and calls[0][0] > 0


async def test_a_function_is_called_by_an_asynchronous_client(async_client, tmp_path):
    calls: list[tuple[int, int | None]] = []

    def told(records: int, total: int | None) -> None:
        calls.append((records, total))

    assert len([one async for one in async_client.contacts.list(progress=told)]) == 450
    assert calls[-1] == (450, 450)
    calls.clear()
    await async_client.contacts.export(tmp_path / "c.jsonl", progress=told)
    assert calls[-1] == (450, 450)


def test_an_error_of_the_function_ends_the_work(client, tmp_path):
    with pytest.raises(ZeroDivisionError):
        client.contacts.list(progress=lambda *_: 1 / 0).to_arrow()
    with pytest.raises(ZeroDivisionError):
        client.contacts.export(tmp_path / "c.jsonl", progress=lambda *_: 1 / 0)


def test_it_is_shown_on_request_and_on_a_terminal_and_can_be_switched_off(client, monkeypatch, capsys):
    def shown(progress=None):
        list(client.contacts.list(progress=progress))
        return capsys.readouterr().err

    assert shown() == shown(False) == ""
    assert "contacts: connecting" in (text := shown(True)) and "\ncontacts: 450 records in " in text
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert "\r\x1b[Kcontacts: 450 records in " in shown()
    monkeypatch.setenv("TALENTDATA_PROGRESS", "0")
    assert shown() == shown(True) == ""
    monkeypatch.delenv("TALENTDATA_PROGRESS")
    monkeypatch.setattr(talentdata, "progress", False)
    assert shown() == shown(True) == ""


def test_a_loop_that_is_left_ends_its_line(client, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for _ in client.contacts.list():
        break
    assert capsys.readouterr().err.endswith(" s\n")


CELL = """
import sys, talentdata
sys.modules["ipywidgets"] = None
sandbox = talentdata.Sandbox(records={"contacts": 450}, policy="unlimited")
rows = len(list(sandbox.client(paced=False).contacts.list()))
"""


@pytest.mark.filterwarnings("default")
def test_a_stored_notebook_has_one_line_of_progress():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    [output] = notebook.cells[0].outputs
    assert output["output_type"] == "display_data"
    assert output["data"]["text/plain"].startswith("contacts: 450 records in ")
    assert "text/html" not in output["data"]
