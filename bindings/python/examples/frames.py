"""Data frames: by name, or by the Arrow protocol that the scan itself speaks."""

from __future__ import annotations

import pyarrow

import talentdata


def main() -> None:
    """Reads the same list in three ways."""
    with talentdata.Sandbox(records={"vacancies": 300}) as sandbox, sandbox.client() as client:
        frame = client.vacancies.list().to_polars()
        print(frame.height)
        table = pyarrow.table(client.vacancies.list())
        print(table.num_rows)
        data = client.vacancies.list().to_pandas()
        print(len(data))


if __name__ == "__main__":
    main()
