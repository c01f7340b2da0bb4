"""What the tests of C and C++ do beside running programs that judge themselves; CMakeLists.txt names each verb."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PREFIX = Path(os.environ["PREFIX"])
CONTACTS = int(os.environ["CONTACTS"])
CC, CXX = os.environ["CC"], os.environ["CXX"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def run(*command: object, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, **options)
    if check and done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def pkg_config(*arguments: str) -> list[str]:
    path = {**os.environ, "PKG_CONFIG_PATH": str(PREFIX / "lib/pkgconfig")}
    return shlex.split(run("pkg-config", *arguments, env=path).stdout)


def fails(words: str, *command: str) -> None:
    done = run(*command, check=False)
    assert done.returncode != 0, f"{command} succeeded; it should have said {words!r}"
    assert words in done.stderr, f"{words!r} is not in:\n{done.stderr}"


def symbols() -> None:
    """The library exports what the committed list says, and has nothing of the sandbox; licences are installed."""
    library = PREFIX / "lib/libtalentdata.so"
    exported = {line.split()[0] for line in run("nm", "-D", "--defined-only", "-P", library).stdout.splitlines()}
    text = (ROOT / "bindings/c/symbols.txt").read_text()
    listed = {line for line in text.splitlines() if line.startswith("talentdata_")}
    assert exported == listed, f"bindings/c/symbols.txt and the library differ in {exported ^ listed}"
    assert len(exported) <= 65, "about sixty functions"
    static = run("nm", "-g", "--defined-only", "-P", PREFIX / "lib/libtalentdata.a").stdout.splitlines()
    foreign = [line for line in static if " " in line and not line.startswith("talentdata_")]
    assert not foreign, f"the static library exports {foreign}"
    assert "soname: [libtalentdata.so." in run("readelf", "-d", library).stdout
    assert b"x-talentdata-sandbox" not in library.read_bytes(), "the library has the sandbox in it"
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (PREFIX / "share/doc/talentdata" / name).read_bytes() == (ROOT / name).read_bytes()
    # Every header compiles alone.
    for header in sorted((PREFIX / "include").rglob("*.h*")):
        c, cpp = [CC, "-x", "c", "-std=c11", "-Wc++-compat"], [CXX, "-x", "c++", "-std=c++17"]
        compiler = cpp if header.suffix == ".hpp" else c
        include = f"#include <{header.relative_to(PREFIX / 'include')}>\n"
        if header.name == "errors.hpp":
            include = "#include <talentdata/base.hpp>\n"
        run(*compiler, *WARNINGS, "-I", PREFIX / "include", "-fsyntax-only", "-", input=include)


def misuse() -> None:
    """Each mistake of a file fails to compile, with the words beside its number: `#elif MISUSE == 2 // words`."""
    for name, compiler, standard in [("refused.c", CC, "c11"), ("refused.cpp", CXX, "c++17")]:
        mistakes = re.findall(r"if MISUSE == (\d+) +(?://|/\*) *(.*?) *(?:\*/)?$", (HERE / name).read_text(), re.M)
        assert mistakes

        def compiled(number: str) -> subprocess.CompletedProcess[str]:
            flags = [f"-std={standard}", f"-DMISUSE={number}", "-I", PREFIX / "include", "-c", "-o", "/dev/null"]
            return run(compiler, *WARNINGS, *flags, HERE / name, check=False)

        assert compiled("0").returncode == 0, compiled("0").stderr
        for number, words in mistakes:
            said = compiled(number)
            assert said.returncode != 0 and words in said.stderr, f"{name} as {standard}, {number}: {words!r} not in {said.stderr}"


def pkg_config_flags() -> None:
    """A program is built with a plain compiler: shared, static, and static throughout."""
    source = ROOT / "bindings/c/examples/quickstart.c"
    shared = pkg_config("--cflags", "--libs", "talentdata") + [f"-Wl,-rpath,{PREFIX}/lib"]
    private = pkg_config("--cflags", "--libs", "--static", "talentdata")
    private = ["-l:libtalentdata.a" if flag == "-ltalentdata" else flag for flag in private]
    static = pkg_config("--cflags", "--libs", "talentdata-static")
    for flags in (shared, private, static, ["-static", *static]):
        run(CC, "-std=c11", source, *flags, "-o", "built_by_hand")
        lines = run("./built_by_hand").stdout.splitlines()
        assert len(lines) == CONTACTS, f"{flags}: {len(lines)} contacts"


def example(program: str) -> None:
    """An example prints a line for each contact, or how many there are."""
    lines = run(program).stdout.splitlines()
    assert len(lines) == CONTACTS or lines[0].startswith(f"{CONTACTS} contacts"), lines


def readme() -> None:
    """Every block of code of the README is compiled and run, those of each language in one program."""
    text = (ROOT / "bindings/c/README.md").read_text()
    flags = pkg_config("--cflags", "--libs", "talentdata") + [f"-Wl,-rpath,{PREFIX}/lib", "-pthread"]
    for language, compiler, head in (
        ("c", [CC, "-std=c11", "-D_POSIX_C_SOURCE=200809L"], "#include <talentdata.h>\n#include <talentdata/arrow.h>\n"),
        ("cpp", [CXX, "-std=c++17"], "#include <talentdata.hpp>\n#include <talentdata/arrow.h>\n"),
    ):
        blocks = re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)
        assert len(blocks) == 6, f"{len(blocks)} blocks of {language}"
        source = head + "".join(blocks)
        name = f"readme.{language}"
        Path(name).write_text(source)
        run(*compiler, *WARNINGS, name, *flags, "-o", f"./readme_{language}")
        said = run(f"./readme_{language}").stdout
        assert f"{CONTACTS} contacts, proven" in said and "changes" in said and "compatible: true" in said, said
        assert "Auth" in said, said


@contextmanager
def sandbox(*arguments: str) -> Iterator[dict[str, str]]:
    command = [os.environ["TALENTDATA"], "sandbox", "--until-stdin-closes", *arguments]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    try:
        yield json.loads(child.stdout.readline())
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def invited(service: dict[str, str]) -> dict[str, str]:
    settings = {f"TALENTDATA_{name.upper()}": service[name] for name in ("base_url", "client_id", "client_secret")}
    return {**os.environ, **settings}


def cases(program: str) -> None:
    """Every case of tests/cases, each on a sandbox of its own."""
    sys.path.insert(0, str(ROOT / "tests/cases"))
    import cases

    def check(name: str) -> str | None:
        try:
            check_case(program, cases, name)
        except AssertionError as error:
            return f"{name}: {error}"
        return None

    with ThreadPoolExecutor(4) as threads:
        wrong = [said for said in threads.map(check, cases.CASES) if said]
    assert not wrong, "\n".join(wrong)


def check_case(program: str, cases: Any, name: str) -> None:
    case = cases.CASES[name]
    options, settings, expect = cases.read(name)
    arguments = ["--faults", "--policy=unlimited"]
    arguments += [f"--records={list}={count}" for list, count in options.get("records", {}).items()]
    arguments += [f"--max-limit={options['max_limit']}"] if "max_limit" in options else []
    arguments += [f"--token-lifetime={options['token_lifetime_s']}"] if "token_lifetime_s" in options else []
    arguments += ["--gzip"] if options.get("gzip") else []
    with sandbox(*arguments) as service:
        body = json.dumps({"rules": case["rules"]}).encode()
        headers = {"content-type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(f"{service['base_url']}/__faults", body, headers)).close()
        secret = settings.pop("client_secret", service["client_secret"])
        environment = {**invited(service), "TALENTDATA_CLIENT_SECRET": secret}
        flags = [f"--{name.replace('attempt_s', 'attempt_timeout')}={value}" for name, value in settings.items()]
        done = run(program, *flags, *words(case["do"]), env=environment, check=False)
        assert done.returncode == 0, f"the program ended with {done.returncode}: {done.stderr}"
        with urllib.request.urlopen(f"{service['base_url']}/__stats") as response:
            requests = json.load(response)["requests_by_path"]
    cases.compare(expect, json.loads(done.stdout), requests, secret, done.stdout + done.stderr)


def words(verb: Any) -> list[object]:
    """What the program is asked to do, as its arguments."""
    if isinstance(verb, str):
        return [verb]
    if "repeat" in verb:
        return ["repeat", verb["repeat"], *words(verb["verb"])]
    ((name, given),) = verb.items()
    if name == "check":
        return [name, given["version"], *given["categories"]]
    return [name, given] if name == "scan" else [name, given["list"], given["limit"], given["offset"]]


if __name__ == "__main__":
    verbs = {"pkg_config": pkg_config_flags}
    verb, *given = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=".") as directory:
        given = [os.path.abspath(one) if os.path.exists(one) else one for one in given]
        os.chdir(directory)
        (verbs.get(verb) or globals()[verb])(*given)
