"""`cargo xtask test sqlites`: several releases of SQLite, pandas and DuckDB read a mirror in every step of a sync.

They read as another user, who cannot write to it.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from commands import CARGO, ROOT, Failure, environment, output, succeed, target

#: The tested releases of the crate libsqlite3-sys, and the version of SQLite in each.
RELEASES = {"0.11.1": "3.26.0", "0.18.0": "3.31.1", "0.22.2": "3.35.4", "0.25.2": "3.39.2", "0.26.0": "3.41.2"}
MANIFEST = """[package]
name = "sqlite"
version = "0.0.0"
edition = "2024"
[lib]
path = "lib.rs"
[dependencies]
libsqlite3-sys = "={}"
[workspace]
"""
LIBRARY = "libsqlite3-sys"
COUNT = "SELECT count(*) FROM contacts"
PACKAGES = ROOT / "tests/sqlites"


def sources(packages):
    """Returns the directory of SQLite's amalgamation."""
    [manifest] = [one["manifest_path"] for one in packages if one["name"] == LIBRARY]
    return Path(manifest).parent / "sqlite3"


def reader(release):
    """Returns a program that reads with the SQLite of a release, or with ours. The program of a release is compiled once."""
    directory = target() / "sqlites" / (release or "ours")
    program = directory / "reader"
    if not (release and program.exists()):
        directory.mkdir(parents=True, exist_ok=True)
        if release:
            (directory / "Cargo.toml").write_text(MANIFEST.format(release))
            (directory / "lib.rs").touch()
        where = directory if release else ROOT
        packages = json.loads(output(CARGO, "metadata", "--format-version=1", cwd=where))["packages"]
        found, code = sources(packages), ROOT / "xtask/tools/sqlite_reader.c"
        options = ["-O1", "-DSQLITE_ENABLE_JSON1", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"]
        succeed("cc", *options, f"-I{found}", "-o", program, code, found / "sqlite3.c", "-lm")
    return program


class Reader:
    """A connection in its own process, of a program or of a package in its environment."""

    def __init__(self, program, path, user):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        if isinstance(program, Path):
            self.process = subprocess.Popen([program, path], user=user, **pipes)
        else:
            python, package = program
            command = [python, PACKAGES / "read.py", package, path, *filter(None, [user])]
            self.process = subprocess.Popen(command, **pipes)
        self.version = self.process.stdout.readline().decode().strip()

    def ask(self, question):
        self.process.stdin.write(question.encode() + b"\n")
        self.process.stdin.flush()
        head = self.process.stdout.readline()
        answer = self.process.stdout.read(int(head[1:])).decode()
        if head[:1] != b"=":
            raise Failure(f"SQLite {self.version}: {question}: {answer}")
        return answer.removesuffix("\n")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Syncs:
    """A process that creates a mirror, and advances its syncs by one step on request."""

    def __init__(self, path):
        build = [CARGO, "test", "--locked", "--package", "talentdata-mirror", "--lib", "--no-run"]
        messages = output(*build, "--message-format=json-render-diagnostics", cwd=ROOT).splitlines()
        programs = [one for one in (json.loads(line).get("executable") for line in messages) if one]
        command = [programs[-1], "--exact", "tests::views::child", "--nocapture"]
        variables = {**os.environ, "TALENTDATA_TEST_MIRROR": str(path)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=variables, text=True, **pipes)
        self.wait()

    def wait(self):
        if not any(line == "> done\n" for line in iter(self.process.stdout.readline, "")):
            raise Failure("the process that syncs has ended")

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.wait()


def read(program, path, user, syncs):
    """Reads all data between syncs, and then the number of records before, during and after each step of a sync."""
    with contextlib.ExitStack() as stack:

        def opened():
            one = Reader(program, path, user)
            stack.callback(one.close)
            return one

        def expect(answer, *readers):
            for one in readers:
                if one.ask(COUNT) != answer:
                    raise Failure(f"SQLite {one.version}: not {answer} records")

        first = opened()
        for question, answer in json.loads(path.with_suffix(".json").read_text()):
            if (found := first.ask(question)) != answer:
                raise Failure(f"SQLite {first.version}: {question}: {found!r} is not {answer!r}")
        before = first.ask(COUNT)
        syncs.step()  # It has begun.
        second = opened()
        expect(before, first, second)
        second.ask("BEGIN")
        expect(before, second)
        syncs.step()  # It has committed.
        after = str(int(before) + 1)
        expect(before, second)
        expect(after, first, opened())
        syncs.step()  # It has ended.
        expect(before, second)
        second.ask("COMMIT")
        expect(after, first, second, opened())
    with contextlib.closing(Reader(program, path, user)) as last:
        if last.ask(COUNT) != after:
            raise Failure(f"SQLite {last.version}: not {after} records after all")
        print(f"SQLite {last.version} reads the mirror between syncs and during one", flush=True)


def run():
    user = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as folder:
        # The reading user owns neither the folder nor the files.
        folder = Path(folder)
        folder.chmod(0o755)
        syncs = Syncs(folder / "mirror.db")
        for release, version in {**RELEASES, None: None}.items():
            program = Path(shutil.copy(reader(release), folder / "reader"))
            with contextlib.closing(Reader(program, folder / "mirror.db", user)) as one:
                if version and one.version != version:
                    raise Failure(f"{LIBRARY} {release} has SQLite {one.version}, not {version}")
            read(program, folder / "mirror.db", user, syncs)
        python = environment(target() / "sqlites/packages", PACKAGES / "requirements.txt") / "python"
        for package in ("pandas", "duckdb"):
            read((python, package), folder / "mirror.db", user, syncs)
        syncs.process.stdin.close()
        if syncs.process.wait():
            raise Failure("the process that syncs has failed")
    if user is None:
        print("NOT RUN: reading as another user, which needs root", flush=True)
