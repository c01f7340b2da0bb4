"""JSON on its way to and from the native module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._talentdata import Record


def loads(text: str) -> Any:
    """The value of a JSON text; integers are exact, however long they are."""
    try:
        return json.loads(text)
    except ValueError:
        # Python refuses to read so many digits at once; its decimals do not.
        from decimal import Decimal

        return json.loads(text, parse_int=lambda digits: int(Decimal(digits)))


def parameters_text(values: Mapping[str, Any]) -> str:
    """The parameters that were given."""
    return _text({name: value for name, value in values.items() if value is not None})


def body_text(required: Any, optional: Mapping[str, Any] | None = None) -> str | None:
    """A request body: a value, or the fields of an object, of which the optional ones may be None.

    None where an optional body was not given.
    """
    if optional is None:
        return None if required is None else _text(required)
    given = {name: value for name, value in optional.items() if value is not None}
    if not required and optional and not given:
        return None
    return _text({**required, **given})


def value_of(text: str | None) -> Any:
    """A response that no class describes."""
    return None if text is None else loads(text)


def _text(value: Any) -> str:
    # NaN and the infinities are no JSON.
    return json.dumps(value, allow_nan=False, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON; use dict, list, str, int, float, bool or None")
