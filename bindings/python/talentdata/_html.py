"""What notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def escape(value: object) -> str:
    """The text of a value, harmless in a page."""
    # Its tables of entities would be a tenth of the time that importing the package takes.
    from html import escape

    return escape(str(value))


def table(title: str, rows: Mapping[str, object]) -> str:
    """A table of names and values under a title."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


def grid(title: str, names: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of records under a title, one a row."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(value)[:200])}</td>" for value in row) + "</tr>" for row in rows
    )
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"
