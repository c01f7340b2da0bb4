"""Display of objects: tables in notebooks with escaped text, and texts with advice for the next step."""

from __future__ import annotations

import html.parser
import json

import pytest

import talentdata

#: A text that would run a script, change colours, or reverse the text direction, if it were not escaped.
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e&\"'"


#: The displayed text, with visible escapes.
SHOWN = HOSTILE.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")


class Tables(html.parser.HTMLParser):
    """Collects the elements and attributes of HTML, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


def tables(thing: object) -> Tables:
    """Returns the parsed HTML of an object. Asserts that it has no script and no colour, and loads nothing."""
    source = thing._repr_html_()  # type: ignore[attr-defined]
    found = Tables(source)
    assert found.elements <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert found.attributes <= {"style"} and "color" not in source and "url(" not in source
    assert not any(letter in source for letter in "\x1b\u202e")
    return found


@pytest.fixture
def hostile(sandbox):
    """Replaces the pools with one record with hostile names and values."""
    record = {"id": HOSTILE, "name": HOSTILE, HOSTILE: {HOSTILE: [HOSTILE]}, "long": "LONG"}
    page = {"pools": [record], "pagination": {"total": 1, "limit": 100, "offset": 0, "hasMore": False}}
    # Python refuses to write an integer with this many digits.
    body = json.dumps(page).replace('"LONG"', "9" * 5000)
    sandbox.set_faults({"match": {"path": "/v1/pools"}, "reply": {"body": body}})


def test_hostile_text_is_shown_and_not_run(client, hostile):
    page = client.pools.page()
    for thing in (page, page[0]):
        found = tables(thing)
        assert SHOWN in found.text
        assert "a number of many digits" in found.text
    assert "\x1b" not in repr(page) and "\u202e" not in repr(page)
    scan = client.pools.list()
    list(scan)
    receipt = scan.receipt
    for thing in (scan, receipt):
        tables(thing)
    assert "\x1b" not in str(receipt) and "\u202e" not in str(receipt)


def test_each_object_is_a_small_table(client, sandbox, tmp_path):
    scan = client.contacts.list()
    [sync] = client.sync(["contacts"], tmp_path / "mirror.db")
    mirror = talentdata.Mirror(tmp_path / "mirror.db")
    for thing, words in (
        (client.contacts, ["List contacts", "plan()", "export(path)"]),
        (client.contacts.plan(), ["Plan", "records", "450"]),
        (client.contacts.page(limit=20), ["Page of contacts: 20 records from offset 0, 450 in all", "and 10 more"]),
        (scan, ["scan of contacts: not begun", "to_polars()"]),
        (sync, ["SyncReceipt", "changes.insert", "450", "scan.completeness", "proven"]),
        (mirror, ["Mirror", "contacts", "450", "proven", "history()"]),
        (client.version(), ["VersionResponse", "operational"]),
    ):
        found = tables(thing)
        assert all(word in found.text for word in words), found.text
    assert len(found.text) < 5000


def test_the_repr_of_a_scan_has_its_progress_and_the_next_step(client, sandbox):
    scan = client.contacts.list()
    assert "not begun; iterate over it, or call to_arrow()" in repr(scan)
    records = iter(scan)
    next(records)
    assert repr(scan) == "<scan of contacts: 1 of 450 records so far; the same iterator or method continues>"
    list(records)
    ended = "<scan of contacts: ended, 450 records, completeness proven; receipt has the details>"
    assert repr(scan) == ended and ended[1:-1].partition("; ")[0] in tables(scan).text
    limited = client.contacts.list(limit=5)
    list(limited)
    assert "ended, 5 records, completeness limited" in repr(limited)
    sandbox.set_faults({"match": {"path": "/v1/contacts"}, "reply": {"status": 404}})
    failed = client.contacts.list()
    with pytest.raises(talentdata.NotFoundError):
        list(failed)
    assert "failed after 0 records with NotFoundError; list() begins again" in repr(failed)


def test_the_repr_of_a_list_a_mirror_and_its_rows(client, tmp_path):
    path = tmp_path / "mirror.db"
    [sync] = client.sync(["pools"], path)
    mirror = talentdata.Mirror(path)
    assert "contacts" in repr(client.contacts) and "list() reads all of it" in repr(client.contacts)
    assert repr(str(path)) in repr(mirror) and ": pools; current()" in repr(mirror)
    for rows, words in (
        (mirror.current("pools"), "pools as of the last sync"),
        (mirror.changes("pools", since=1), "changes of pools after 1"),
        (mirror.as_of("pools", sync.bookmark), f"pools as of {sync.bookmark}"),
        (mirror.history("pools"), "syncs of pools"),
    ):
        assert repr(rows).startswith(f"<rows: {words}, bookmark {sync.bookmark}; to_arrow()")
    path.unlink()
    assert "PathError" in repr(mirror)


def printed(thing: object) -> dict[str, str]:
    """Returns the lines that `print` shows after the first one, by the names at their beginnings."""
    lines = (line.split() for line in str(thing).splitlines()[1:])
    return {name: " ".join(rest) for name, *rest in lines}


def test_a_printed_receipt_has_its_times_its_origin_and_explained_counts(client, sandbox, tmp_path):
    scan = client.contacts.list()
    list(scan)
    receipt, shown = scan.receipt, printed(scan.receipt)
    assert receipt.started <= receipt.ended
    assert shown["started"].startswith(f"{receipt.started:%Y-%m-%d %H:%M:%S} UTC # The start of the scan")
    assert shown["service"].startswith(f"{sandbox.base_url} # ")
    assert shown["client_id"].startswith(f"{sandbox.client_id} # ")
    assert shown["version"].startswith(f"{talentdata.__version__} # ")
    assert shown["duplicates_dropped"] == "0 # The number of repeated records that were dropped"
    assert shown["records"] == "450 # The number of delivered records"
    [sync] = client.sync(["pools"], tmp_path / "mirror.db")
    assert printed(sync)["changes.insert"].startswith("3 # ") and printed(sync)["scan.records"].startswith("3 # ")
