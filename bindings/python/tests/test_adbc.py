"""The ADBC driver, through the driver manager and programs that use it."""

import subprocess
import sys
import threading

import adbc_driver_manager
import adbc_driver_manager.dbapi
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from support import unproven_sandbox

import talentdata
import talentdata.adbc

LISTS = ("contacts", "vacancies", "pools", "ja_skills", "ja_roles", "ja_tasks", "ja_departments")
LISTS += ("taxonomy_skills", "taxonomy_roles")


def settings(sandbox):
    return {
        "base_url": sandbox.base_url,
        "client_id": sandbox.client_id,
        "client_secret": sandbox.client_secret,
        "paced": False,
    }


@pytest.fixture
def connection(sandbox):
    with talentdata.adbc.connect(**settings(sandbox)) as connection:
        yield connection


def fetch(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()


@pytest.mark.parametrize("name", LISTS)
def test_a_query_and_an_export_have_the_same_rows(name, client, connection, tmp_path):
    path = tmp_path / "list.parquet"
    getattr(client, name).export(path)
    exported = pyarrow.parquet.read_table(path)
    read = fetch(connection, f'SELECT * FROM "{name.replace("_", "-")}"')
    assert read.num_rows > 0 and read.equals(exported)


def test_a_query_has_only_the_columns_that_it_names(connection):
    assert fetch(connection, "select email, id from contacts limit 9").column_names == ["email", "id"]
    frame = pandas.read_sql("SELECT id FROM contacts LIMIT 5", connection)
    assert frame.shape == (5, 1)
    assert polars.read_database("SELECT * FROM main.pools", connection).height == 3


def test_other_statements_are_refused_with_a_solution(connection):
    with pytest.raises(adbc_driver_manager.ProgrammingError, match="WHERE.*DuckDB"):
        fetch(connection, "SELECT * FROM contacts WHERE id = 'x'")
    with pytest.raises(adbc_driver_manager.ProgrammingError, match='has no column "shoeSize"'):
        fetch(connection, "SELECT shoeSize FROM contacts")


def test_an_unproven_list_ends_with_an_error():
    with unproven_sandbox("without order") as sandbox:
        with (
            talentdata.adbc.connect(**settings(sandbox)) as connection,
            pytest.raises(OSError, match="it is not proven that they are all"),
        ):
            fetch(connection, "SELECT id FROM contacts")
        with talentdata.adbc.connect(**settings(sandbox), unproven="accept") as connection:
            assert fetch(connection, "SELECT id FROM contacts").num_rows > 0


def test_another_thread_cancels_a_query(sandbox):
    sandbox.set_faults({"match": {"path": "/v1/contacts", "from": 3}, "reply": {"delay_ms": 600_000}})
    with talentdata.adbc.connect(**settings(sandbox), page_size=10) as connection, connection.cursor() as cursor:
        outcome = []

        def read():
            try:
                cursor.execute("SELECT * FROM contacts")
                cursor.fetch_arrow_table()
            except Exception as error:
                outcome.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        while reader.is_alive():
            cursor.adbc_cancel()
            reader.join(0.05)
        assert "stopped" in str(outcome[0])


def test_a_mirror_is_read_without_a_service(client, tmp_path):
    path = tmp_path / "mirror.db"
    client.sync(["contacts"], path)
    with talentdata.adbc.connect(mirror=path) as connection:
        assert fetch(connection, "SELECT * FROM contacts").num_rows == 450
        tables = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
        assert [one["table_name"] for one in tables[0]["catalog_db_schemas"][0]["db_schema_tables"]] == ["contacts"]


def test_programs_find_the_lists_and_their_columns(client, connection):
    assert connection.adbc_get_table_schema("contacts") == pyarrow.schema(client.contacts)
    assert connection.adbc_get_table_types() == ["TABLE"]
    assert connection.adbc_get_info()["driver_version"] == talentdata.__version__
    found = connection.adbc_get_objects(table_name_filter="pools").read_all().to_pylist()
    table = found[0]["catalog_db_schemas"][0]["db_schema_tables"][0]
    assert [column["column_name"] for column in table["table_columns"]] == pyarrow.schema(client.pools).names
    with connection.cursor() as cursor:
        assert cursor.adbc_execute_schema("SELECT id FROM contacts").names == ["id"]


def test_wrong_options_are_named():
    with pytest.raises(adbc_driver_manager.Error, match='there is no option "shoe_size"'):
        talentdata.adbc.connect(shoe_size=43)
    with pytest.raises(talentdata.InvalidArgumentError, match="client_secret: this bytes"):
        talentdata.adbc.connect(client_secret=b"secret")


def test_install_writes_a_manifest_that_names_the_driver(sandbox, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = subprocess.run([sys.executable, "-m", "talentdata", "adbc", "install"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    manifest = tmp_path / "adbc/drivers/talentdata.toml"
    assert str(manifest) in done.stdout
    assert talentdata.adbc.DRIVER in manifest.read_text()
    options = {name: str(value).lower() if name == "paced" else value for name, value in settings(sandbox).items()}
    with adbc_driver_manager.dbapi.connect(driver="talentdata", db_kwargs=options, autocommit=True) as connection:
        assert fetch(connection, "SELECT * FROM pools").num_rows == 3
