"""Files held against the receipts of the exports that wrote them."""

from __future__ import annotations

import os
from typing import Any

from . import _errors, _talentdata
from ._html import table
from ._receipt import Receipt
from ._talentdata import Field, Record


class Verification(Record):
    """What a file is, and how it differs from what an export has written. `verify` makes one.

    It is true where the file is what was written, byte for byte.

    >>> import os, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         path = os.path.join(directory, "pools.jsonl")
    ...         receipt = client.pools.export(path)
    ...         with open(path, "a") as file:
    ...             print('{"id":"x"}', file=file)
    ...         found = talentdata.verify(path, receipt)
    >>> bool(found), found.records, [difference["finding"] for difference in found.differences]
    (False, 26, ['size', 'blake3', 'extra'])
    """

    __slots__ = ()
    _documented = ("holds", "differences", "bytes", "blake3", "records", "records_digest", "written")

    holds: Field[bool] = Field("holds", "boolean", required=True)
    """Whether the file is what was written, byte for byte."""
    differences: Field[list[dict[str, Any]]] = Field("differences", "array", required=True)
    """What differs, each with a `finding` and a `message`: `size`, `blake3`, `format` (it is of another format, or not
    whole), `missing`, `extra`, `repeated`, `altered` or `order` (of records), `receipt` (it contradicts itself)."""
    bytes: Field[int] = Field("bytes", "integer", required=True)
    """The size of the file."""
    blake3: Field[str] = Field("blake3", "text", required=True)
    """Its BLAKE3, as 64 hexadecimal digits."""
    records: Field[int | None] = Field("records", "integer")
    """Records in it; `None` where it is not of the format."""
    records_digest: Field[str | None] = Field("records_digest", "text")
    """The digest of the records; `None` for other formats than JSON Lines."""
    written: Field[dict[str, Any]] = Field("written", "object", required=True)
    """What was written, see `Receipt.written`."""

    def raise_for_differences(self) -> None:
        """Raises `MismatchError`, which says what differs, unless the file is what was written.

        Raises:
            talentdata.MismatchError: The file is not what its receipt says.
        """
        if not self.holds:
            messages = "; ".join(difference["message"] for difference in self.differences)
            raise _errors.MismatchError(f"the file is not what its receipt says: {messages}")

    def __bool__(self) -> bool:
        return self.holds

    def _repr_html_(self) -> str:
        return table("Verification", self.to_dict())


def verify(path: str | os.PathLike[str], receipt: Receipt | str | os.PathLike[str]) -> Verification:
    """Holds a file against the receipt of the export that wrote it, and names what differs.

    Size and BLAKE3 are compared in any case. Of JSON Lines that differ, it is told whether records are missing,
    repeated, altered or only in another order; of other formats, whether there are as many.

    Args:
        path: The file. It may have been renamed since.
        receipt: What `export` has returned, or a file that `talentdata export --receipt` has written; of several lists,
            the receipt of a file of this name counts.

    Raises:
        talentdata.IoError: A file cannot be read.
        talentdata.InvalidArgumentError: It is no receipt, or not one of an export that is complete.

    >>> import os, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         path = os.path.join(directory, "pools.parquet")
    ...         receipt = client.pools.export(path)
    ...         talentdata.verify(path, receipt).raise_for_differences()
    """
    if isinstance(receipt, Record):
        return Verification(_talentdata.verify(path, receipt.json, None))
    return Verification(_talentdata.verify(path, None, receipt))
