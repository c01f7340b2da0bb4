"""One page of a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, overload

from . import _display
from ._models import Pagination
from ._talentdata import Record

R = TypeVar("R", bound=Record)


class Page(Sequence[R], Generic[R]):
    """The records of one page, as a sequence, and their position in the list."""

    records: list[R]
    """The records, in the service's order."""
    pagination: Pagination
    """The total, the limit, the offset, and whether more records follow."""
    key: str
    """The key of the records in the response."""

    def __init__(self, records: list[R], pagination: Pagination, key: str) -> None:
        self.records = records
        self.pagination = pagination
        self.key = key

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> list[R]: ...
    def __getitem__(self, index: int | slice) -> R | list[R]:
        return self.records[index]

    def __iter__(self) -> Iterator[R]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Page):
            return NotImplemented
        return self.records == other.records and self.pagination == other.pagination

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self._title()}: iterate, or index from 0; pagination.has_more says whether more follow>"

    def _repr_html_(self) -> str:
        rest = len(self) - _display.ROWS
        note = f"and {rest} more; iterate over the page, or index it" if rest > 0 else ""
        return _display.of_records(self._title(), self.records, note)

    def _title(self) -> str:
        offset, total = (self.pagination.get(name, "?") for name in ("offset", "total"))
        return f"Page of {_display.shown(self.key)}: {len(self)} records from offset {offset}, {total} in all"
