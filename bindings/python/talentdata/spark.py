"""Lists as data frames of Apache Spark, and of engines with the same protocol, such as Sail.

    spark.dataSource.register(talentdata.spark.DataSource)
    contacts = spark.read.format("talentdata").option("resource", "contacts").load()

Needs `pyspark` 4 and `pyarrow`, on the workers as well. One task reads one list: all tasks share the request budget of
the company, so several tasks would not read it faster. Lists that are loaded together share one budget.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
from pyspark.sql.datasource import DataSource as _DataSource
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from ._client import Client
from ._engines import arrow_schema, batches, checked, open_scan
from ._errors import InvalidArgumentError
from ._list import List
from ._results import Receipt
from ._talentdata import Record, check_option, list_name

__all__ = ["DataSource", "receipts"]

#: Options that are settings of the client. Settings that are not given come from each host's environment or profile.
_SETTINGS = ("base_url", "client_id", "client_secret", "profile")
_OPTIONS = ("resource", "page_size", "columns", "unproven", "receipts", *_SETTINGS)


class DataSource(_DataSource):
    """The data source `talentdata`. Its options:

    - `resource`: the list, such as `contacts`.
    - `page_size`, `columns` (`typed` or `json`): see `List.list`.
    - `unproven`: `fail` (the default) fails a task whose list is not proven to be complete, `warn` issues an
      `IncompleteWarning` in the task, `accept` does neither.
    - `receipts`: a directory that driver and workers share, for the receipt of each list; see `receipts`.
    - `base_url`, `client_id`, `client_secret`, `profile`: settings of the client. They become part of the query plan,
      so keep secrets in the environment or the profile file of each worker instead.
    """

    @classmethod
    def name(cls) -> str:
        return "talentdata"

    def schema(self) -> StructType:
        options = _Options(self.options)
        with options.client() as client:
            found = arrow_schema(List(client, options.resource, Record), options.columns)
        return from_arrow_schema(_for_spark(found))

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(_Options(self.options), schema)


class _Options:
    """The checked options."""

    def __init__(self, given: Mapping[str, str]) -> None:
        options = {name.lower(): value for name, value in given.items()}
        unknown = [name for name in options if name not in _OPTIONS and name != "path"]
        if unknown:
            raise InvalidArgumentError(f"{unknown[0]}: there is no such option; the options are {', '.join(_OPTIONS)}")
        self.resource = list_name(options.get("resource") or options.get("path") or "")
        for name in options.keys() & {"page_size", "columns"}:
            check_option(name, options[name])
        self.page_size = int(options["page_size"]) if "page_size" in options else None
        self.columns: Any = options.get("columns", "typed")
        self.unproven = checked(options.get("unproven", "fail"))
        self.receipts = options.get("receipts")
        self.settings: dict[str, Any] = {name: options[name] for name in _SETTINGS if name in options}

    def client(self) -> Client:
        return Client(**self.settings)


class _Reader(DataSourceReader):
    def __init__(self, options: _Options, schema: StructType | pyarrow.Schema) -> None:
        self._options = options
        # Sail passes a schema of Arrow types instead of Spark's.
        self._columns: pyarrow.Schema = schema if isinstance(schema, pyarrow.Schema) else to_arrow_schema(schema)

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(self._options.resource)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        options = self._options
        columns = self._columns
        given = _for_core(columns)
        with options.client() as client:
            resource = List(client, options.resource, Record)
            reading = {"page_size": options.page_size, "schema": given, "on_new_field": "freeze"}
            scan = open_scan(resource, options.unproven, **reading)
            for batch in batches(scan, options.unproven):
                rows = [batch.column(field.name).cast(field.type) for field in columns]
                yield pyarrow.RecordBatch.from_arrays(rows, schema=columns)
        if options.receipts is not None:
            _keep(scan.receipt, Path(options.receipts))


def receipts(directory: str | os.PathLike[str]) -> list[Receipt]:
    """Returns the receipt of the last read of each list, from the directory of the option `receipts`."""
    return [Receipt(path.read_text(encoding="utf-8")) for path in sorted(Path(directory).glob("*.json"))]


def _keep(receipt: Receipt, directory: Path) -> None:
    """Writes a receipt. If the task runs again, the new receipt replaces the earlier one."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=directory, suffix=".tmp", delete=False) as file:
        file.write(receipt.json)
    os.replace(file.name, directory / f"{receipt.resource}.json")


#: The type for unsigned 64-bit integers, which Spark does not have.
_UNSIGNED = pyarrow.decimal128(20, 0)


def _for_spark(schema: pyarrow.Schema) -> pyarrow.Schema:
    """Returns the schema in the types of Spark."""
    return pyarrow.schema([field.with_type(_changed(field.type, _spark_type)) for field in schema])


def _for_core(schema: pyarrow.Schema) -> pyarrow.Schema:
    """Returns the schema in the types of a list, without the column `_extra`, which every list has."""
    fields = [field for field in schema if field.name != "_extra"]
    return pyarrow.schema([field.with_type(_changed(field.type, _core_type)) for field in fields])


def _spark_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    if pyarrow.types.is_uint64(kind):
        return _UNSIGNED
    return pyarrow.timestamp("us", "UTC") if pyarrow.types.is_timestamp(kind) else kind


def _core_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    if pyarrow.types.is_decimal(kind):
        return pyarrow.uint64()
    return pyarrow.timestamp("us", "UTC") if pyarrow.types.is_timestamp(kind) else kind


def _changed(kind: pyarrow.DataType, change: Any) -> pyarrow.DataType:
    """Returns a type whose innermost types are changed."""
    if pyarrow.types.is_list(kind):
        return pyarrow.list_(kind.value_field.with_type(_changed(kind.value_type, change)))
    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([field.with_type(_changed(field.type, change)) for field in kind])
    return change(kind)
