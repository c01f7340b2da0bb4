"""Fields of records as attributes, open enumerations, and the base classes of receipts."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from . import _display
from ._errors import SchemaError
from ._talentdata import Record, check_file, check_scan, check_sync

T = TypeVar("T")

#: By kind of field: the possible first characters of the JSON text, and a description of the value for errors.
_KINDS = {
    "text": ('"', "a string"),
    "time": ('"', "a time in the format of RFC 3339"),
    "integer": ("-0123456789", "a whole number"),
    "number": ("-0123456789", "a number"),
    "boolean": ("tf", "true or false"),
    "array": ("[", "an array"),
    "object": ("{", "an object"),
    "json": ("", "anything"),
    "model": ("{", "an object"),
    "models": ("[", "an array of objects"),
    "model by name": ("{", "an object of objects"),
}


class Field(Generic[T]):
    """A field of the API description. Reads and checks its value when the attribute is read."""

    name: str
    """The name of the field in the API."""
    required: bool
    """True if every record has the field."""

    def __init__(
        self, name: str, kind: str, doc: str = "", *, required: bool = False, of: Callable[[], Any] | None = None
    ) -> None:
        self.name = name
        self.required = required
        self.__doc__ = doc
        self._kind = kind
        self._of = of

    @overload
    def __get__(self, record: None, owner: Any = None) -> Field[T]: ...
    @overload
    def __get__(self, record: Record, owner: Any = None) -> T: ...
    def __get__(self, record: Record | None, owner: Any = None) -> Any:
        if record is None:
            return self
        text = record._member(self.name)
        if text is None or text == "null":
            if not self.required:
                return None
            if text is None:
                raise self._wrong(record, "it is missing")
        first, expected = _KINDS[self._kind]
        if first and text[0] not in first:
            raise self._wrong(record, f"it is not {expected}")
        if self._kind == "integer" and not set(".eE").isdisjoint(text):
            number = _whole(text)
            if number is None:
                raise self._wrong(record, f"it is not {expected}")
            return number
        if self._of is None:
            value = record[self.name]
            return _time(value) if self._kind == "time" else value
        model = self._of()
        if self._kind == "model":
            return model(text)
        if self._kind not in ("models", "model by name"):
            return model(record[self.name])
        many = Record._items(text) if self._kind == "models" else Record._members(text)
        if not all(one.startswith("{") for one in (many if isinstance(many, list) else many.values())):
            raise self._wrong(record, f"it is not {expected}")
        if isinstance(many, list):
            return [model(one) for one in many]
        return {name: model(one) for name, one in many.items()}

    # A descriptor with this method is a data descriptor, whose documentation `help` shows.
    def __set__(self, record: Record, value: object) -> None:
        raise AttributeError(f"{type(record).__name__} is read-only")

    def _wrong(self, record: Record, what: str) -> SchemaError:
        key = record._member("id")
        named = f" {key}" if key is not None and len(key) <= 100 else ""
        return SchemaError(
            f'{type(record).__name__}{named}: {self.name}: {what}; record["{self.name}"] and record.json show its text'
        )


def _whole(text: str) -> int | None:
    """Returns an integer from any notation, or None for other numbers. In JSON Schema, 1.0 is an integer."""
    number = decimal.Decimal(text)
    is_whole = number.adjusted() < 40 and number == number.to_integral_value()
    return int(number) if is_whole else None


def _time(text: str) -> datetime.datetime:
    # Before Python 3.11, `fromisoformat` rejects `Z`, and fractions of a second unless they have three or six digits.
    head, _, fraction = text.removesuffix("Z").partition(".")
    microseconds = int(f"{fraction:0<6}"[:6] or 0)
    return datetime.datetime.fromisoformat(head).replace(microsecond=microseconds, tzinfo=datetime.timezone.utc)


class OpenEnum(str):
    """A string from a set that may grow. The known values are attributes of its class.

    >>> from talentdata import ApiStatus
    >>> ApiStatus("operational") == ApiStatus.OPERATIONAL == "operational"
    True
    >>> ApiStatus("sleeping").is_known
    False
    """

    __slots__ = ()

    @property
    def is_known(self) -> bool:
        """True if the value is a known one."""
        known = vars(type(self)).items()
        return any(name.isupper() and value == self for name, value in known)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class PrintedRecord(Record):
    """The base class of results for which `print` shows a line with the value and the meaning of each field."""

    __slots__ = ()

    def __str__(self) -> str:
        return _display.lines(self)


class ScanReceipt(PrintedRecord):
    """The base class of receipts of scans."""

    __slots__ = ()

    def require_proven(self) -> None:
        """Raises `IncompleteError` unless the scan is proven complete, or reached its `limit`.

        Raises:
            talentdata.IncompleteError: The scan has not ended, or its completeness is not proven.
        """
        check_scan(self.json)


class MirrorReceipt(PrintedRecord):
    """The base class of receipts of syncs."""

    __slots__ = ()

    def require_proven(self) -> None:
        """Raises `IncompleteError` if the mirror may lack changes.

        Raises:
            talentdata.IncompleteError: The scan was not proven complete, or deletes were withheld.
        """
        check_sync(self.json)


class FileCheck(Record):
    """The base class of verifications. A verification is true if the file is unchanged."""

    __slots__ = ()

    def raise_for_differences(self) -> None:
        """Raises `MismatchError`, which contains both sizes and digests, unless the file is unchanged.

        Raises:
            talentdata.MismatchError: The file differs from its receipt.
        """
        check_file(self.json)

    def __bool__(self) -> bool:
        return self["matches"] is True
