"""The part `c` of the tests: a CMake project of C and C++ programs, run by CTest against an installed library, a sandbox and
a server for budgets. The library is built once for all presets: plain, valgrind, sanitizers, and clang where there is one."""

import json
import os
import platform
import shutil
import subprocess
import time

import dist
from commands import ROOT, Failure, build, environment, output, succeed, target, within
from test_services import Sandbox, Valkey, servers

#: The library and the command line are built with what the part `rust` has built for its tests: cargo builds a dependency
#: once for each set of its features, and the features of one package alone are fewer. The examples are named since only
#: with them those of the tests are on.
BUILD = ["--workspace", "--exclude", "xtask", "--lib", "--bins", "--examples"]
#: Contacts that the sandbox has, more than a scan has under way at once.
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
    """The same programs with a library that is instrumented itself, for which every dependency is built anew.

    The thread sanitizer is no use here: Rust's own library is not instrumented, so every lock and channel of it looks like a
    race, and its source, which an instrumented build needs, is not part of the toolchain.
    """
    # With a target of its own, the flags are kept from build scripts and macros. Sanitizers are unstable options of the
    # compiler, which the first variable allows on a stable one.
    place = ["--target", f"{platform.machine()}-unknown-linux-gnu", "--target-dir", target() / "sanitized"]
    flags = {"RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": "-Zsanitizer=address -Cforce-frame-pointers=yes"}
    library = build("-p", "talentdata-ffi-c", "--lib", *place, **flags)
    if "__asan_report" not in output("nm", "-D", "-u", library["libtalentdata.so"]):
        raise Failure("the library is not instrumented")
    tested(build(*BUILD), library, "c-sanitized", [("sanitizers", "sanitizers")])


def tested(made, library, name, presets):
    """Installs the library, and runs the presets: that of the build, and that of the tests."""
    directory = target() / name
    # What an earlier run left behind would hide a file that is no longer installed.
    shutil.rmtree(directory, ignore_errors=True)
    prefix, older = directory / "prefix", directory / "older"
    dist.install(library, prefix)
    shutil.copytree(prefix / "include", older)
    older_headers(older)
    options = ["--policy", "unlimited", "--records", f"contacts={CONTACTS}"]
    server = servers()["TALENTDATA_VALKEY_SERVER"]
    with Sandbox(made["talentdata"], *options, variables=tools()) as sandbox, Valkey(server) as valkey:
        own = {"PREFIX": prefix, "OLDER_HEADERS": older, "BUILDS": directory / "builds", "TALENTDATA": made["talentdata"]}
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
    """Writes the header of a spec that lacks the first list, a field and an operation of the present one."""
    spec = json.loads((ROOT / "spec/openapi.json").read_text())
    for path in ("/v1/contacts", "/v1/version/check"):
        del spec["paths"][path]
    del spec["components"]["schemas"]["CategoryEntry"]["properties"]["model_version"]
    file = directory / "older.json"
    file.write_text(json.dumps(spec))
    succeed(os.environ["XTASK"], "generate", "--spec", file, "--header", directory / "talentdata")


def tools():
    """The variables of commands that find cmake, ctest and ninja, which come from PyPI where they are not installed."""
    if shutil.which("cmake") and shutil.which("ninja"):
        return os.environ
    return within(environment(target() / "cmake", ROOT / "bindings/c/tests/requirements.txt"))
