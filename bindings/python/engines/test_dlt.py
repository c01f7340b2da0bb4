"""The dlt example of docs/load.md: a table follows a list through syncs, and is reloaded if necessary."""

import duckdb
import pytest
from test_load import load, rounds  # noqa: F401


@pytest.mark.filterwarnings("ignore")
def test_dlt(rounds, load, monkeypatch, tmp_path):  # noqa: F811
    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path / "dlt"))
    wholes, to_load = [], load["to_load"]

    def noted(*arguments):
        found, is_whole = to_load(*arguments)
        wholes.append(is_whole)
        return found, is_whole

    load["to_load"] = noted
    for truth, is_whole in rounds():
        for again in range(2):
            load["run"]("dlt")
            assert wholes.pop() == (is_whole and not again)
            with duckdb.connect("talent.duckdb") as connection:
                rows = connection.execute("SELECT _key, email, first_name FROM crm.contacts").fetchall()
            assert sorted(rows) == truth
