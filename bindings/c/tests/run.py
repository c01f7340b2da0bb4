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
        run(*compiler, *WARNINGS, "-I", PREFIX / "include", "-c", "-o", "/dev/null", "-", input=include)


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


def flat(program: str) -> None:
    """A program that streams twenty times as many records needs hardly more memory: under 110 bytes a record."""

    def peak(records: int) -> float:
        with sandbox("--policy=unlimited", f"--records=contacts={records}") as service:
            code = (
                "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
            )
            return int(run(sys.executable, "-c", code, program, env=invited(service)).stdout) / 1024

    few, many = peak(2_000), peak(40_000)
    print(f"peak memory: {few:.1f} MiB for 2,000 records, {many:.1f} MiB for 40,000")
    assert many <= few + 4.0


def cases(program: str) -> None:
    """Every case of tests/cases, each on a sandbox of its own; a member that is not known is an error."""
    wrong = []
    for path in sorted((ROOT / "tests/cases").glob("*.json")):
        suite = json.loads(path.read_text())
        assert suite["schema_version"] == 1 and suite["suite"] == path.stem
        for case in suite["cases"]:
            try:
                check_case(program, case)
            except AssertionError as error:
                wrong.append(f"{suite['suite']}: {case['id']}: {error}")
        print(f"{suite['suite']}: {len(suite['cases'])} cases")
    assert not wrong, "\n".join(wrong)


def check_case(program: str, case: dict[str, Any]) -> None:
    assert set(case) <= {"id", "docs", "sandbox", "client", "rules", "do", "expect"}
    options = case.get("sandbox", {})
    assert set(options) <= {"records", "max_limit", "gzip", "token_lifetime_s"}
    arguments = ["--faults", "--policy=unlimited"]
    arguments += [f"--records={name}={count}" for name, count in options.get("records", {}).items()]
    flags = {"max_limit": "--max-limit", "token_lifetime_s": "--token-lifetime"}
    arguments += [f"{flags[name]}={value}" for name, value in options.items() if name in flags]
    arguments += ["--gzip"] if options.get("gzip") else []
    client = case.get("client", {})
    names = {"max_attempts": "max_attempts", "attempt_s": "attempt_timeout"}
    assert set(client) <= {"client_secret", *names}
    expect = case["expect"]
    assert set(expect) <= {"error", "records", "ids", "completeness", "value", "requests"}
    with sandbox(*arguments) as service:
        body = json.dumps({"rules": case["rules"]}).encode()
        headers = {"content-type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(f"{service['base_url']}/__faults", body, headers)).close()
        environment = invited(service)
        secret = client.get("client_secret", service["client_secret"])
        environment["TALENTDATA_CLIENT_SECRET"] = secret
        settings = [f"--{names[name]}={value}" for name, value in client.items() if name in names]
        done = run(program, *settings, *words(case["do"]), env=environment, check=False)
        assert done.returncode == 0, f"the program ended with {done.returncode}: {done.stderr}"
        for text in (done.stdout, done.stderr):
            assert "CANARY" not in text and secret not in text, f"a secret is in: {text}"
        compare(expect, json.loads(done.stdout))
        with urllib.request.urlopen(f"{service['base_url']}/__stats") as response:
            seen = json.load(response)["requests_by_path"]
    for path, count in expect.get("requests", {}).items():
        assert seen.get(path, 0) == count, f"requests to {path}: {seen.get(path, 0)}, not {count}"


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


def compare(expect: dict[str, Any], said: dict[str, Any]) -> None:
    if "error" in expect:
        wanted, found = dict(expect["error"]), said.get("error")
        assert found, f"no error, not {wanted['kind']}"
        for text in wanted.pop("says"):
            assert text in found["message"], f"{text!r} is not in: {found['message']}"
        if "retry_after_s" in wanted:
            wanted["retry_after_ms"] = round(wanted.pop("retry_after_s") * 1000)
        for name, value in wanted.items():
            assert found[name] == value, f"{name}: {found[name]!r}, not {value!r}"
        return
    assert "answer" in said, said["error"]["message"]
    answer = said["answer"]
    assert expect.get("records", len(answer["records"])) == len(answer["records"]), len(answer["records"])
    if "ids" in expect:
        assert [one["id"] for one in answer["records"]] == expect["ids"]
    assert expect.get("completeness", answer["completeness"]) == answer["completeness"], answer["completeness"]
    for pointer, wanted in expect.get("value", {}).items():
        found = answer["value"]
        for step in pointer.split("/")[1:]:
            found = found[int(step) if isinstance(found, list) else step.replace("~1", "/").replace("~0", "~")]
        assert found == wanted, f"{pointer}: {found!r}, not {wanted!r}"


if __name__ == "__main__":
    verbs = {"pkg_config": pkg_config_flags}
    verb, *given = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=".") as directory:
        given = [os.path.abspath(one) if os.path.exists(one) else one for one in given]
        os.chdir(directory)
        (verbs.get(verb) or globals()[verb])(*given)
