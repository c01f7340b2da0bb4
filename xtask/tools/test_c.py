"""The part `c` of the tests: a CMake project of C and C++ programs.

CTest runs them with an installed library, a sandbox and a server for budgets. The library is built once for all
presets: plain, valgrind and clang (if they are installed), and sanitizers.
"""

import json
import os
import platform
import shutil
import subprocess
import time

import dist
from commands import ROOT, Failure, build, environment, output, succeed, target, within
from test_services import Sandbox, Valkey, servers

#: The arguments of the build of the library and the command line. With them, cargo reuses the dependencies that the
#: part `rust` has built: it builds a dependency once for each set of its features, and one package alone would enable
#: fewer. `--examples` is needed because it enables the features of the dependencies of tests.
BUILD = ["--workspace", "--exclude", "xtask", "--lib", "--bins", "--examples"]
#: The number of contacts in the sandbox: more than a scan requests at once.
CONTACTS = "3000"


def run():
    made = build(*BUILD)
    presets = [("plain", "plain"), ("plain", "valgrind"), ("sanitizers", "sanitizers")]
    if shutil.which("clang"):
        presets.append(("clang", "clang"))
    else:
        print("clang is not installed: its part is NOT RUN", flush=True)
    if not shutil.which("valgrind"):
        print("valgrind is not installed: its part is NOT RUN", flush=True)
        del presets[1]
    tested(made, made, "c", presets)


def run_sanitized():
    """Runs the programs with an instrumented library, for which every dependency is built again.

    The thread sanitizer does not work here: Rust's standard library is not instrumented, so each of its locks and
    channels looks like a race. Its source, which an instrumented build needs, is not part of the toolchain.
    """
    # With a given target, the flags do not apply to build scripts and macros. Sanitizers are unstable options of the
    # compiler, which the first variable allows in a stable one.
    place = ["--target", f"{platform.machine()}-unknown-linux-gnu", "--target-dir", target() / "sanitized"]
    flags = {"RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": "-Zsanitizer=address -Cforce-frame-pointers=yes"}
    library = build("-p", "talentdata-ffi-c", "--lib", *place, **flags)
    if "__asan_report" not in output("nm", "-D", "-u", library["libtalentdata.so"]):
        raise Failure("the library is not instrumented")
    made = build(*BUILD)
    tested(made, {**made, **library}, "c-sanitized", [("sanitizers", "sanitizers")])


def tested(made, library, name, presets):
    """Installs the library, and builds and tests each of the presets."""
    directory = target() / name
    # The files of an earlier run could hide that a file is no longer installed.
    shutil.rmtree(directory, ignore_errors=True)
    prefix, older = directory / "prefix", directory / "older"
    dist.install(library, prefix)
    shutil.copytree(prefix / "include", older)
    older_headers(older)
    options = ["--policy", "unlimited", "--records", f"contacts={CONTACTS}"]
    server = servers()["TALENTDATA_VALKEY_SERVER"]
    with Sandbox(made["talentdata"], *options, variables=tools()) as sandbox, Valkey(server) as valkey:
        own = {
            "PREFIX": prefix,
            "OLDER_HEADERS": older,
            "BUILDS": directory / "builds",
            "TALENTDATA": made["talentdata"],
        }
        variables = {**sandbox.variables, **{key: str(value) for key, value in own.items()}}
        variables.update(CONTACTS=CONTACTS, BUDGET_SERVER=valkey.url)

        def command(program, *arguments):
            place = {"cwd": ROOT / "bindings/c/tests", "env": variables, "stdin": subprocess.DEVNULL}
            succeed(program, *arguments, **place)

        for built, test in presets:
            started = time.monotonic()
            command("cmake", "--preset", built, f"-DCMAKE_PREFIX_PATH={prefix}", "--log-level=WARNING")
            command("cmake", "--build", "--preset", built)
            command("ctest", "--preset", test, "--progress")
            print(f"-- {test}: passed in {time.monotonic() - started:.0f} s", flush=True)


def older_headers(directory):
    """Writes the headers of a spec without the first list, a field and an operation of the current one."""
    spec = json.loads((ROOT / "spec/openapi.json").read_text())
    for path in ("/v1/contacts", "/v1/version/check"):
        del spec["paths"][path]
    del spec["components"]["schemas"]["CategoryEntry"]["properties"]["model_version"]
    file = directory / "older.json"
    file.write_text(json.dumps(spec))
    succeed(os.environ["XTASK"], "generate", "--spec", file, "--header", directory / "talentdata")


def tools():
    """Returns variables with which cmake, ctest and ninja are found. Installs them from PyPI if necessary."""
    if shutil.which("cmake") and shutil.which("ninja"):
        return os.environ
    return within(environment(target() / "cmake", ROOT / "bindings/c/tests/requirements.txt"))
