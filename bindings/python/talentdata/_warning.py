"""The warning that a list was read to its end, but its completeness is not proven."""

from __future__ import annotations

import sys
import warnings

#: Packages whose frames can be between this module and the line that requested the rows.
_BETWEEN = ("talentdata", "polars", "pandas", "pyarrow")


class IncompleteWarning(UserWarning):
    """A warning that a frame may lack records of its list. The text names the doubts, as the receipt does."""


# By default, Python shows a warning once for each line of code. A program that reads a list every night needs the
# warning every night. Filters of the program take precedence over this one.
warnings.simplefilter("always", IncompleteWarning, append=True)


def warn(text: str | None) -> None:
    """Issues a warning, if there is one, for the line that requested the rows."""
    if text is None:
        return
    # On a thread of an engine, this frame is the only one.
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, IncompleteWarning, stacklevel=level)
