"""Warnings about results that may lack records, or may contain fields that the caller wanted to drop."""

from __future__ import annotations

import sys
import warnings
from typing import TypeVar

from ._results import Receipt, SyncReceipt
from ._talentdata import warnings_of_scan, warnings_of_sync

#: Packages whose frames can be between this module and the line that requested the rows.
_BETWEEN = ("talentdata", "polars", "pandas", "pyarrow")


class IncompleteWarning(UserWarning):
    """A warning that a frame may lack records of its list. The text names the doubts, as the receipt does."""


# By default, Python shows a warning once for each line of code. A program that reads a list every night needs the
# warning every night. Filters of the program take precedence over this one.
warnings.simplefilter("always", IncompleteWarning, append=True)


R = TypeVar("R", Receipt, SyncReceipt)


def checked(receipt: R) -> R:
    """Returns the receipt of an export or a sync, and issues warnings for the line that requested it."""
    of = warnings_of_sync if isinstance(receipt, SyncReceipt) else warnings_of_scan
    shortfall, misspelled = of(receipt.json)
    warn(shortfall)
    warn(misspelled, UserWarning)
    return receipt


def warn_of_names(receipt: Receipt) -> None:
    """Issues a warning about fields that the caller named and no record had."""
    warn(warnings_of_scan(receipt.json)[1], UserWarning)


def warn(text: str | None, category: type[Warning] = IncompleteWarning) -> None:
    """Issues a warning, if there is one, for the line that requested the rows."""
    if text is None:
        return
    # On a thread of an engine, this frame is the only one.
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
