"""Formats objects for people: as text for `print` and `repr`, and as small HTML tables in notebooks.

The tables have no colours, so that they are readable in light and dark themes. They have no script and load nothing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence

from ._error import Error
from ._talentdata import BaseClient, RawScan, Record

#: The maximum number of characters of a value, and of rows and columns of a table of records.
VALUE, ROWS, COLUMNS = 200, 10, 8

#: Characters that are shown although Python does not count them as printable: they join or separate others, in emoji
#: and in many languages.
JOINERS = "\u200c\u200d"

#: The fields of a receipt that a scan shows.
SCAN = ("records", "total_last", "completeness", "basis", "doubts", "pages", "requests", "seconds")

_TABLE = "border-collapse:collapse;text-align:left"
_CELL = "padding:.1em 1em .1em 0;text-align:left;vertical-align:top"


def shown(value: object) -> str:
    """Returns a value as text for people, without characters that a terminal or a browser may react to."""
    if value is None:
        text = "none"
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, int) and value.bit_length() > 4 * VALUE:
        text = "a number of many digits"
    elif isinstance(value, float) and (abs(value) >= 0.001 or not value):
        text = f"{value:.3f}".rstrip("0").rstrip(".")
    elif isinstance(value, datetime.datetime):
        text = f"{value:%Y-%m-%d %H:%M:%S %Z}"
    elif isinstance(value, Mapping):
        text = ", ".join(f"{shown(name)}: {shown(one)}" for name, one in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        text = ", ".join(shown(one) for one in value)
    else:
        text = str(value)
    text = "".join(one if one.isprintable() or one in JOINERS else ascii(one)[1:-1] for one in text)
    return text if len(text) <= VALUE else f"{text[:VALUE]}..."


def described(record: Record, prefix: str = "") -> Iterable[tuple[str, str, str]]:
    """Yields the name, the value and the meaning of each field of a record that has a value."""
    fields = {name: getattr(type(record), name, None) for name in record._documented}
    for name, field in fields.items():
        try:
            value = record.get(name) if field is None else getattr(record, name)
        except Error:
            # The value does not match its documentation.
            value = record.get(name)
        if value is None or isinstance(value, (str, Mapping, Sequence)) and not value:
            continue
        if isinstance(value, Record) and value._documented:
            yield from described(value, f"{prefix}{name}.")
        else:
            # The meaning is the first phrase of the documentation.
            meaning = re.split(r"[.:;]( |$)", getattr(field, "__doc__", None) or "")[0]
            yield f"{prefix}{name}", shown(value), meaning
    for name in record:
        if name not in fields:
            yield f"{prefix}{shown(name)}", shown(record[name]), ""


def lines(record: Record) -> str:
    """Returns a record as text, with a line for each field and its meaning."""
    rows = list(described(record))
    width = max((len(name) for name, _, _ in rows), default=0)
    made = (f"  {name:<{width}}  {value}" + (f"  # {meaning}" if meaning else "") for name, value, meaning in rows)
    return "\n".join([type(record).__name__, *made])


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """Returns a table as HTML. All texts are escaped."""
    # Only notebooks need this module, which takes long to import.
    from html import escape

    def cells(kind: str, texts: Sequence[object]) -> str:
        made = (f'<{kind} style="{_CELL}">{escape(shown(text))}</{kind}>' for text in texts)
        return f"<tr>{''.join(made)}</tr>"

    parts = [f"<div><strong>{escape(shown(title))}</strong></div>"]
    body = [cells("td", row) for row in rows]
    if body:
        top = f"<thead>{cells('th', head)}</thead>" if head else ""
        parts.append(f'<table style="{_TABLE}">{top}<tbody>{"".join(body)}</tbody></table>')
    if note:
        parts.append(f'<div style="opacity:.7">{escape(note)}</div>')
    return f"<div>{''.join(parts)}</div>"


def of_record(record: Record) -> str:
    """Returns a record as HTML, with a row for each field and its meaning."""
    rows = list(described(record))
    has_meanings = any(meaning for _, _, meaning in rows)
    head = ["field", "value", "meaning"] if has_meanings else ["field", "value"]
    return table(type(record).__name__, head, [row[: len(head)] for row in rows])


#: The advice in the `repr` of a list.
NEXT = "list() reads all of it, page() one page, export() writes a file, plan() estimates the cost"


def of_list(name: str, client: BaseClient) -> str:
    """Returns a list of the service as HTML, with the methods that read it."""
    rows = [
        (
            "list()",
            "all records, to iterate over, or for to_arrow(), to_polars() and to_pandas(); each scan sends requests",
        ),
        ("export(path)", "writes all records to a file"),
        ("page()", "one page"),
        ("plan()", "the records, pages and seconds of a scan"),
        ("schema()", "the columns of a table"),
    ]
    return table(f"List {name} of {client!r}", [], rows)


def scan_title(name: str, scan: RawScan) -> str:
    """Returns the progress or the outcome of a scan, and advice for the next step."""
    receipt, (_, total) = Record(scan.receipt()), scan.progress()
    records, completeness = receipt["records"], receipt["completeness"]
    if completeness != "unfinished":
        proof = str(completeness).replace("_", " ")
        return f"scan of {name}: ended, {records} records, completeness {proof}; receipt has the details"
    try:
        scan.check()
    except Error as error:
        return f"scan of {name}: failed after {records} records with {type(error).__name__}; list() begins again"
    if not receipt["pages"]:
        return f"scan of {name}: not begun; iterate over it, or call to_arrow(), to_polars() or to_pandas()"
    of_all = "" if total is None else f" of {total}"
    return f"scan of {name}: {records}{of_all} records so far; the same iterator or method continues"


def of_scan(name: str, scan: RawScan) -> str:
    """Returns a scan as HTML: its state, and its receipt once it has begun."""
    receipt = Record(scan.receipt())
    rows = [(field, receipt[field]) for field in SCAN if receipt.get(field)] if receipt["pages"] else []
    title, _, note = scan_title(name, scan).partition("; ")
    return table(title, [], rows, note)


def of_records(title: str, records: Sequence[Record], note: str = "") -> str:
    """Returns the first records as HTML, with a column for each of their first fields."""
    first = records[:ROWS]
    names = list(dict.fromkeys(name for record in first for name in record))[:COLUMNS]
    rows = [["" if record.get(name) is None else record[name] for name in names] for record in first]
    return table(title, names, rows, note)
