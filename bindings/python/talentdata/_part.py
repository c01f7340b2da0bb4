"""A part of a list, for another process to read."""

from __future__ import annotations

from typing import Any

from ._talentdata import Field, Record


class Part(Record):
    """A part of a list, which `Scan.parts` plans and `Client.scan` reads. It can be pickled, and holds no secret.

    Its `json` is the same as a text: `Part(text)` is the part again.

    >>> import pickle, talentdata
    >>> with talentdata.Sandbox(records={"pools": 450}) as sandbox, sandbox.client() as client:
    ...     parts = client.pools.list().parts(2)
    ...     part = pickle.loads(pickle.dumps(parts[1]))
    ...     part, part.planned_records, len(list(client.scan(part)))
    (Part(pools, 2 of 2), 225, 225)
    """

    __slots__ = ()
    _documented = ("talentdata_part", "checksum", "contents")

    talentdata_part: Field[int] = Field("talentdata_part", "integer", required=True)
    """The version of the text: the same one reads it."""
    checksum: Field[str] = Field("checksum", "text", required=True)
    """Of the contents, so that an altered part is refused."""
    contents: Field[dict[str, Any]] = Field("contents", "object", required=True)
    """What the part consists of: options of the scan, hashes of the records at its beginning and end, and columns."""

    @property
    def resource(self) -> str:
        """The list."""
        return str(self.contents["resource"])

    @property
    def plan(self) -> str:
        """The random id that all parts of one plan share."""
        return str(self.contents["plan"])

    @property
    def number(self) -> int:
        """Its number, from 1."""
        return int(self.contents["part"])

    @property
    def of(self) -> int:
        """How many parts the plan has."""
        return int(self.contents["of"])

    @property
    def planned_records(self) -> int:
        """How many records it brings if the list stays as it is."""
        return int(self.contents["planned_records"])

    def __repr__(self) -> str:
        contents = self.to_dict().get("contents")
        if not isinstance(contents, dict):
            return super().__repr__()
        return f"Part({contents.get('resource')}, {contents.get('part')} of {contents.get('of')})"
