"""Runs each line of its input as SQL on a mirror, with pandas or DuckDB, and prints the same as xtask/tools/sqlite_reader.c.

Usage: read.py PACKAGE FILE [USER]. With a user, modules are imported as the present user, and the file is read as that user.
"""

import os
import pwd
import sqlite3
import sys
from importlib.metadata import version
from pathlib import Path


def of_pandas():
    import pandas

    def attach(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=10)

        def ask(question):
            if question in ("BEGIN", "COMMIT"):
                return [] if connection.execute(question) else None
            # With `dtype=object`, integers next to empty cells stay integers.
            return pandas.read_sql(question, connection, dtype=object).to_numpy().tolist()

        return ask

    return f"{sqlite3.sqlite_version} by pandas {version('pandas')}", attach


def of_duckdb():
    import duckdb
    import duckdb_extension_sqlite_scanner

    connection = duckdb.connect()
    directory = Path(duckdb_extension_sqlite_scanner.__file__).parent
    [scanner] = directory.rglob("*.duckdb_extension")
    connection.execute(f"LOAD '{scanner}'")
    # The first query imports further Python modules.
    connection.execute("SELECT ?", [""]).fetchall()

    def attach(path):
        connection.execute(f"ATTACH '{path}' AS mirror (TYPE sqlite, READ_ONLY)")

        def ask(question):
            if question in ("BEGIN", "COMMIT"):
                return [] if connection.execute(question) else None
            return connection.execute("FROM sqlite_query('mirror', ?)", [question]).fetchall()

        return ask

    return f"of DuckDB {version('duckdb')}", attach


def main(package, path, user=None):
    name, attach = {"pandas": of_pandas, "duckdb": of_duckdb}[package]()
    if user:
        found = pwd.getpwnam(user)
        os.setgroups([])
        os.setgid(found.pw_gid)
        os.setuid(found.pw_uid)
    ask = attach(path)
    print(name, flush=True)
    for line in sys.stdin:
        try:
            rows = ask(line.rstrip("\n"))
            head, text = (
                "=",
                "".join("\t".join("NULL" if cell is None else str(cell) for cell in row) + "\n" for row in rows),
            )
        except Exception as error:
            head, text = "!", str(error)
        answer = text.encode()
        sys.stdout.buffer.write(f"{head}{len(answer)}\n".encode() + answer)
        sys.stdout.flush()


main(*sys.argv[1:])
