"""Tables that follow a list whose fields change: one that appears late gets a column, as docs/load.md says, and one whose
type changes keeps its column, and the value in `_extra`."""

import http.server
import json
import threading
import urllib.parse

import deltalake
import duckdb
import pyarrow.parquet as parquet
import pytest
from test_merge_sql import as_csv, postgresql, postgresql_type  # noqa: F401

import talentdata


class Service:
    """A list of contacts whose records the test sets."""

    def __init__(self):
        self.records = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.reply(service.page(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)))

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.reply({"access_token": "any-token", "token_type": "Bearer", "expires_in": 3600})

            def reply(self, body):
                body = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, query):
        offset, limit = (int(query.get(name, [usual])[0]) for name, usual in (("offset", 0), ("limit", 20)))
        records = self.records[offset : offset + limit]
        more = offset + len(records) < len(self.records)
        paging = {"total": len(self.records), "limit": len(records), "offset": offset, "hasMore": more}
        return {"success": True, "contacts": records, "pagination": paging}

    def client(self):
        base_url = f"http://127.0.0.1:{self.server.server_port}"
        return talentdata.Client(base_url=base_url, client_id="me", client_secret="any-secret", paced=False)


def contact(number, **fields):
    own = {"id": f"c-{number}", "firstName": f"A{number}", "lastName": "B", "email": f"c{number}@example.com"}
    return {**own, "score": number, **fields}


def lists():
    """The list at each sync, without which fields were known before."""
    yield [contact(number) for number in range(40)]
    # New fields, of which one is nested.
    nested = {"city": "Oslo", "rooms": [1, 2]}
    yield [contact(number, nickname=f"N{number}", office=nested) if number % 3 else contact(number) for number in range(45)]
    # Another type, and deletes.
    yield [contact(number, score="high") if number % 4 == 0 else contact(number, nickname="M") for number in range(5, 45)]
    # The old type again, and a field that becomes an object.
    yield [contact(number, nickname={"short": "M"}) if number % 5 == 0 else contact(number) for number in range(5, 44)]


@pytest.fixture
def generations(tmp_path):
    """Makes the mirror sync by sync; yields the changes of each."""
    service = Service()
    with service.client() as client:

        def sync():
            for since, records in enumerate(lists()):
                service.records = records
                [receipt] = client.sync(["contacts"], tmp_path / "mirror", progress=False)
                assert receipt.scan.completeness == "proven"
                yield talentdata.Mirror(tmp_path / "mirror").changes("contacts", since).to_arrow()

        yield sync
    service.server.shutdown()
    service.server.server_close()


def expected(path):
    """The list as of the last sync, with all columns that it ever had."""
    rows = parquet.read_table(path / "mirror" / "contacts" / "current.parquet").sort_by("id").to_pylist()
    assert {"nickname", "office", "score"} < set(rows[0])
    assert any("score" in (row["_extra"] or "") or "nickname" in (row["_extra"] or "") for row in rows)
    assert all(row["score"] == int(row["id"][2:]) for row in rows)
    return rows


def new_columns(changes, known):
    """Columns of the changes that a table does not have, beside those of a change itself."""
    meta = ("_generation", "_op", "_last_seen", "_seen")
    return [field for field in changes.schema if field.name not in (*meta, *known)]


def test_duckdb(generations, tmp_path):
    connection = duckdb.connect()
    added = 0
    for changes in generations():
        connection.execute(
            "CREATE TABLE IF NOT EXISTS contacts AS "
            "SELECT * EXCLUDE (_generation, _op, _last_seen, _seen) FROM changes LIMIT 0"
        )
        found = connection.execute("DESCRIBE SELECT * EXCLUDE (_generation, _op, _last_seen, _seen) FROM changes")
        for name, type, *_ in found.fetchall():
            quoted = name.replace('"', '""')
            connection.execute(f'ALTER TABLE contacts ADD COLUMN IF NOT EXISTS "{quoted}" {type}')
        for _ in range(2):
            connection.execute(talentdata.merge_sql("duckdb", "contacts", changes.column_names))
        added = max(added, len(changes.column_names))
    rows = connection.sql("SELECT * EXCLUDE _key FROM contacts ORDER BY id").to_arrow_table().to_pylist()
    names = list(expected(tmp_path)[0])
    assert [{name: row[name] for name in names} for row in rows] == expected(tmp_path)
    assert added == len(names) + 5


def test_postgresql_adds_columns(postgresql, generations, tmp_path):  # noqa: F811
    known = ["_key"]
    postgresql("DROP TABLE IF EXISTS contacts; CREATE TABLE contacts (_key text PRIMARY KEY);")
    for changes in generations():
        for field in new_columns(changes, known):
            type = "jsonb" if field.name == "_extra" else postgresql_type(field.type)
            postgresql(f'ALTER TABLE contacts ADD COLUMN "{field.name}" {type};')
            known.append(field.name)
        columns = ", ".join(f'"{field.name}" {postgresql_type(field.type)}' for field in changes.schema)
        columns = columns.replace('"_extra" text', '"_extra" jsonb')
        merge = talentdata.merge_sql("postgresql", "contacts", changes.column_names)
        load = f"CREATE TEMP TABLE changes ({columns});\nCOPY changes FROM STDIN (FORMAT csv);\n{as_csv(changes)}\\.\n"
        for _ in range(2):
            postgresql(f"{load}{merge};")
    text = postgresql("\\pset tuples_only on\n\\pset format unaligned\nSELECT to_jsonb(contacts) - '_key' FROM contacts;")
    rows = [json.loads(line) for line in text.split("\n") if line.startswith("{")]
    truth = [{**row, "_extra": row["_extra"] and json.loads(row["_extra"])} for row in expected(tmp_path)]
    assert sorted(rows, key=lambda row: row["id"]) == truth


def test_delta(generations, tmp_path):
    table = None
    for changes in generations():
        if table is None:
            own = [field.name for field in new_columns(changes, ())]
            empty = deltalake.Schema.from_arrow(changes.select(own).schema)
            table = deltalake.DeltaTable.create(tmp_path / "delta", schema=empty)
        fresh = new_columns(changes, [field.name for field in table.schema().fields])
        if fresh:
            columns = changes.select([field.name for field in fresh]).schema
            table.alter.add_columns(deltalake.Schema.from_arrow(columns).fields)
        for _ in range(2):
            steps = json.loads(talentdata.merge_sql("delta", "contacts", changes.column_names))
            merge = table.merge(changes, **steps.pop("merge"))
            for step, arguments in steps.items():
                merge = getattr(merge, step)(**arguments)
            merge.execute()
    rows = sorted(table.to_pyarrow_table().drop_columns(["_key"]).to_pylist(), key=lambda row: row["id"])
    names = list(expected(tmp_path)[0])
    assert [{name: row[name] for name in names} for row in rows] == expected(tmp_path)


def test_current_has_the_columns_of_its_file(generations, tmp_path):
    names = []
    for _ in generations():
        file = parquet.read_table(tmp_path / "mirror" / "contacts" / "current.parquet")
        current = talentdata.Mirror(tmp_path / "mirror").current("contacts").to_arrow()
        assert current.schema.names == file.schema.names
        assert current.sort_by("id").to_pylist() == file.sort_by("id").to_pylist()
        names.append(current.schema.names)
    # Columns stay although no record of the list has the field any more.
    assert "nickname" in names[-1] and "office" in names[-1]
