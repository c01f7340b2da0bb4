"""Lists as tables of a database, with Python's database API: `talentdata.adbc.connect()`.

    with talentdata.adbc.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, email FROM contacts")
        contacts = cursor.fetch_arrow_table()

Needs `adbc-driver-manager` and `pyarrow`. A statement is `SELECT * or names FROM list [LIMIT n]`. For
joins, filters and sums, give the result to DuckDB or Polars.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _talentdata
from ._errors import InvalidArgumentError
from ._optional import need

if TYPE_CHECKING:
    import adbc_driver_manager.dbapi

__all__ = ["DRIVER", "ENTRYPOINT", "connect"]

#: The path of the library with the driver, which is the native module of this package.
DRIVER = _talentdata.__file__
#: The name of the function with which a driver manager loads the driver.
ENTRYPOINT = "AdbcTalentdataInit"


def connect(
    *, mirror: str | os.PathLike[str] | None = None, **options: str | float | bool | list[str] | None
) -> adbc_driver_manager.dbapi.Connection:
    """Connects to the service, or opens a mirror. Sends no request.

    Each statement reads its list from the service again, which uses the request budget. Columns that a statement does
    not name are removed before a record is delivered. If completeness is not proven, the result ends with an error.

    Args:
        mirror: The file of a mirror, which is read instead of the service.
        options: Settings of the client, such as `base_url`; other settings come from the environment and the
            profile file. Also options of `list`: `unproven`, `columns`, `schema` (JSON text), `fields`, `drop`,
            `page_size`, `limit`, `on_new_field`.

    Raises:
        ImportError: A package is missing.
        adbc_driver_manager.Error: An option or a setting is missing or wrong. Errors of statements are of this type,
            too.
    """
    need("pyarrow", "talentdata.adbc")
    dbapi = need("adbc_driver_manager.dbapi", "talentdata.adbc")
    given = {"mirror": None if mirror is None else os.fspath(mirror), **options}
    texts = {name: _text(name, value) for name, value in given.items() if value is not None}
    connection: adbc_driver_manager.dbapi.Connection = dbapi.connect(
        driver=DRIVER, entrypoint=ENTRYPOINT, db_kwargs=texts, autocommit=True
    )
    return connection


def _text(name: str, value: Any) -> str:
    """Returns a value as text. A wrong value may be a secret, and is not shown."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, (str, int, float)):
        return str(value)
    raise InvalidArgumentError(f"{name}: this {type(value).__name__} cannot be used; give text, a number or a boolean")
