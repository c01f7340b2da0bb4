"""The warning that a list was read to its end without a proof that every record came."""

from __future__ import annotations

import sys
import warnings

#: Packages whose code lies between a list and the line that asked for its rows.
_BETWEEN = ("talentdata", "polars", "pandas", "pyarrow")


class IncompleteWarning(UserWarning):
    """A frame may lack records of its list. The text names the doubts, as the receipt of the scan does."""


# A program that reads a list every night is warned every night. The filters of the program come before this one.
warnings.simplefilter("always", IncompleteWarning, append=True)


def warn(text: str | None) -> None:
    """Issues a warning, where there is one, for the line that asked for the rows."""
    if text is None:
        return
    # A thread of an engine has no frame but this one.
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, IncompleteWarning, stacklevel=level)
