"""Reads exported files with the packages of its environment, and compares their rows with the JSON Lines next to them.

`cargo xtask test readers` runs it in an environment for each year. Usage: read.py DIRECTORY. Prints the differences, and
ends with 1 if there are any.
"""

import json
import math
import re
import sys
from datetime import date, datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path

import datafusion
import duckdb
import fastparquet
import polars
import pyarrow
from pyarrow import csv, ipc, parquet

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Number(str):
    """A number as it is written in JSON."""


def loads(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def of_datafusion(path, kind, columns="", options=""):
    # Several partitions would have any order; pyarrow 14 does not support string views.
    settings = datafusion.SessionConfig().with_target_partitions(1)
    settings.set("datafusion.execution.parquet.schema_force_view_types", "false")
    context = datafusion.SessionContext(settings)
    context.sql(f"CREATE EXTERNAL TABLE t {columns} STORED AS {kind} LOCATION '{path}' {options}")
    table = context.sql("SELECT * FROM t")
    return pyarrow.Table.from_batches(table.collect(), table.schema()).to_pylist()


def of_datafusion_csv(path):
    columns = ", ".join(f'"{name}" VARCHAR' for name in names(path))
    options = "OPTIONS ('format.has_header' 'true', 'format.newlines_in_values' 'true')"
    return of_datafusion(path, "CSV", f"({columns})", options)


def of_duckdb(path, call):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection.sql(f"SELECT * FROM {call.format(path)}").to_arrow_table().to_pylist()


def of_fastparquet(path):
    frame = fastparquet.ParquetFile(str(path)).to_pandas().astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


def of_pyarrow_csv(path):
    strings = {"column_types": dict.fromkeys(names(path), pyarrow.string()), "strings_can_be_null": True}
    options = csv.ConvertOptions(null_values=[""], quoted_strings_can_be_null=False, **strings)
    return csv.read_csv(path, parse_options=LINES, convert_options=options).to_pylist()


def names(path):
    return csv.read_csv(path, parse_options=LINES).column_names


LINES = csv.ParseOptions(newlines_in_values=True)
#: The functions that read the rows of a file, by package, with the pattern of their files. Cells of CSV are read as text.
READERS = {
    "**/*.parquet": {
        "polars": lambda path: polars.read_parquet(path).to_dicts(),
        "datafusion": lambda path: of_datafusion(path, "PARQUET"),
        "pyarrow": lambda path: parquet.read_table(path).to_pylist(),
        "duckdb": lambda path: of_duckdb(path, "read_parquet('{}')"),
    },
    # fastparquet cannot read lists of structs, and mistakes integers after a struct for another column.
    "flat/*.parquet": {"fastparquet": of_fastparquet},
    "**/*.arrow": {
        "polars": lambda path: polars.read_ipc(path).to_dicts(),
        "datafusion": lambda path: of_datafusion(path, "ARROW"),
        "pyarrow": lambda path: ipc.open_file(path).read_all().to_pylist(),
    },
    "**/*.csv": {
        "polars": lambda path: polars.read_csv(path, infer_schema_length=0).to_dicts(),
        "datafusion": of_datafusion_csv,
        "pyarrow": of_pyarrow_csv,
        "duckdb": lambda path: of_duckdb(
            path, "read_csv('{}', header=true, all_varchar=true, allow_quoted_nulls=false)"
        ),
    },
}


def nanoseconds(text):
    """Returns the instant of a date-time."""
    whole, fraction, offset = re.fullmatch(r"(.{19})\.?(\d*)(.+)", text).groups()
    instant = datetime.fromisoformat(whole + offset.replace("Z", "+00:00"))
    return (instant - EPOCH) // timedelta(seconds=1) * 10**9 + int(fraction.ljust(9, "0"))


def same(value, cell):
    """Returns whether a cell has the same value as JSON."""
    if isinstance(cell, str):
        # A number in CSV, JSON text, or a string.
        return cell == value if isinstance(value, str) and cell == value else loads(cell) == value
    if isinstance(value, bool):
        return cell is value
    if isinstance(value, Number):
        if isinstance(cell, float):
            return (cell, math.copysign(1, cell)) == (float(value), math.copysign(1, float(value)))
        return cell == int(value)
    if hasattr(cell, "nanosecond"):
        return cell.value == nanoseconds(value)
    if isinstance(cell, datetime):
        # Python and DuckDB truncate to microseconds.
        return abs((cell - EPOCH) // timedelta(microseconds=1) * 1000 - nanoseconds(value)) < 1000
    if isinstance(cell, date):
        return cell.isoformat() == value
    if isinstance(value, list):
        return len(value) == len(cell) and all(map(same, value, cell))
    if isinstance(value, dict):
        return not list(differences(value, cell))
    return value is cell is None


def differences(record, row):
    """Returns the differences between a row and its record. Absent and null are equal."""
    for name in record.keys() | row.keys():
        value, cell = record.get(name), row.get(name)
        if (value is None) != (cell is None) or value is not None and not same(value, cell):
            yield f"{name} is {cell!r} and not {value!r}"


def without_null_structs(value):
    """Returns a value with null in place of structs that have only null members."""
    if isinstance(value, list):
        return [without_null_structs(item) for item in value]
    if isinstance(value, dict):
        members = {name: without_null_structs(member) for name, member in value.items()}
        return members if any(member is not None for member in members.values()) else None
    return value


def compare(package, path, read):
    with path.with_suffix(".jsonl").open(encoding="utf-8") as lines:
        records = [loads(line) for line in lines]
    rows = read(path)
    if len(rows) != len(records):
        yield f"{len(rows)} rows and not {len(records)}"
    for record, row in zip(records, rows):
        row.update(loads(row.pop("_extra") or "{}"))
        if package == "polars" and version(package) == "1.0.0":
            # Polars 1.0.0 has no null structs, only structs of nulls.
            row = {name: without_null_structs(cell) for name, cell in row.items()}
            structs = {name: value for name, value in record.items() if not isinstance(row.get(name), str)}
            record = {**record, **{name: without_null_structs(value) for name, value in structs.items()}}
        if package == "datafusion" and path.suffix == ".csv":
            # datafusion reads an empty text as null.
            record = {name: None if value == "" else value for name, value in record.items()}
        yield from differences(record, row)


def main(directory):
    wrong = 0
    for pattern, readers in READERS.items():
        paths = sorted(directory.glob(pattern))
        for package, read in readers.items():
            found = []
            for path in paths:
                try:
                    found += [f"{path.name}: {difference}" for difference in compare(package, path, read)]
                # A panic of Polars is not an Exception.
                except BaseException as error:
                    found.append(f"{path.name}: {type(error).__name__}: {error}")
            print(
                f"-- {package} {version(package)}: {len(paths)} files {pattern}, {len(found)} differences",
                *found[:3],
                sep="\n   ",
                flush=True,
            )
            wrong += len(found) + (not paths)
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) > 0)
