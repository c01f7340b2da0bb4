"""One page of a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, overload

from ._errors import PagingError
from ._html import grid
from ._models import Pagination
from ._talentdata import RawRecord, Record

R = TypeVar("R", bound=Record)

#: How many records and fields a notebook shows.
ROWS, COLUMNS = 10, 8


class Page(Sequence[R], Generic[R]):
    """The records of one page, as a sequence, and where they stand in the list (sections 2 and 8).

    >>> import talentdata
    >>> with talentdata.Sandbox(records={"contacts": 30}) as sandbox, sandbox.client() as client:
    ...     page = client.contacts.page(limit=20)
    >>> len(page), page.pagination.total, page.pagination.has_more, page.key
    (20, 30, True, 'contacts')
    """

    __slots__ = ("key", "pagination", "records")

    records: list[R]
    """The records, in the service's order."""
    pagination: Pagination
    """Total, limit, offset and whether more follow (section 2)."""
    key: str
    """The key under which the records stood in the response."""

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

    def __reduce__(self) -> tuple[type[Page[R]], tuple[list[R], Pagination, str]]:
        return type(self), (self.records, self.pagination, self.key)

    def __repr__(self) -> str:
        offset, total = self.pagination.offset, self.pagination.total
        return f"<Page of {self.key}: {len(self)} records from offset {offset}, {total} in all>"

    def _repr_html_(self) -> str:
        names = list(self.records[0])[:COLUMNS] if self.records else []
        rows = ([record.get(name, "") for name in names] for record in self.records[:ROWS])
        return grid(repr(self).strip("<>"), names, rows)


def made(model: type[R], parts: tuple[list[RawRecord], RawRecord, str]) -> Page[R]:
    """A page from what the core hands over."""
    records, pagination, key = parts
    return Page([model(record) for record in records], Pagination(pagination), key)


def next_offset(page: Page[R]) -> int | None:
    """Where the next page begins: behind what was received, whatever was asked for. None at the end."""
    if not page.pagination.has_more:
        return None
    offset = page.pagination.offset
    if not page.records:
        raise PagingError("the service sent an empty page and said that more follow", offset=offset)
    return offset + len(page.records)
