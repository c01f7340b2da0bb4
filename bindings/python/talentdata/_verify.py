"""Files compared with the receipts of the exports that wrote them."""

from __future__ import annotations

import os
from typing import Any

from . import _errors, _talentdata
from ._html import table
from ._receipt import Receipt
from ._talentdata import Field, Record


class Verification(Record):
    """What a file is, compared with what an export has written. `verify` makes one.

    It is true where the file is what was written, byte for byte.

    >>> import os, talentdata, tempfile
    >>> with talentdata.Sandbox(records={"pools": 25}) as sandbox, sandbox.client() as client:
    ...     with tempfile.TemporaryDirectory() as directory:
    ...         path = os.path.join(directory, "pools.jsonl")
    ...         receipt = client.pools.export(path)
    ...         with open(path, "a") as file:
    ...             print('{"id":"x"}', file=file)
    ...         found = talentdata.verify(path, receipt)
    >>> bool(found), found.bytes - found.written["bytes"]
    (False, 11)
    """

    __slots__ = ()
    _documented = ("matches", "bytes", "blake3", "written")

    matches: Field[bool] = Field("matches", "boolean", required=True)
    """Whether the file is what was written, byte for byte."""
    bytes: Field[int] = Field("bytes", "integer", required=True)
    """The size of the file."""
    blake3: Field[str] = Field("blake3", "text", required=True)
    """Its BLAKE3, as 64 hexadecimal digits."""
    written: Field[dict[str, Any]] = Field("written", "object", required=True)
    """What was written, see `Receipt.written`."""

    def raise_for_differences(self) -> None:
        """Raises `MismatchError`, which contains both sizes and digests, unless the file is what was written.

        Raises:
            talentdata.MismatchError: The file is not what its receipt describes.
        """
        if not self.matches:
            written = self.written
            raise _errors.MismatchError(
                f"the file is not what its receipt describes: it has {self.bytes} bytes instead of {written['bytes']}, "
                f"and its BLAKE3 is {self.blake3} instead of {written['blake3']}"
            )

    def __bool__(self) -> bool:
        return self.matches

    def _repr_html_(self) -> str:
        return table("Verification", self.to_dict())


def verify(path: str | os.PathLike[str], receipt: Receipt | str | os.PathLike[str]) -> Verification:
    """Checks a file against its export receipt: its bytes have to be those that were written.

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
