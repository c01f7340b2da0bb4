"""The tests of C and C++ that are not self-checking programs. CMakeLists.txt calls each function by its name."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path += [str(ROOT / "tests/cases"), str(ROOT / "xtask/tools")]
from test_services import Sandbox  # noqa: E402

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
    """Checks the exported names of both libraries against their headers, where the sandbox is, and the licences."""
    of_sandbox = PREFIX / "include/talentdata_sandbox.h"
    for name in ("talentdata", "talentdata_sandbox"):
        library = PREFIX / f"lib/lib{name}.so"
        exported = {line.split()[0] for line in run("nm", "-D", "--defined-only", "-P", library).stdout.splitlines()}
        headers = [header for header in (PREFIX / "include").rglob("*.h") if (header == of_sandbox) == ("_" in name)]
        text = "".join(header.read_text() for header in headers)
        declared = set(re.findall(r"^(?!.*\binline\b)\w.*?\b(talentdata_\w+)\(", text, re.M))
        # ADBC driver managers find the entry point by the name of the library. The generic entry point would clash with
        # others.
        driver = {"AdbcTalentdataInit"} if name == "talentdata" else set()
        assert exported == declared | driver, f"the headers and lib{name} differ in {exported ^ declared ^ driver}"
        assert len(exported) <= 85, "about eighty functions"
        assert f"soname: [lib{name}.so." in run("readelf", "-d", library).stdout
        assert (b"x-talentdata-sandbox" in library.read_bytes()) == (name != "talentdata"), "the product has no sandbox"
    init = ctypes.CDLL(str(PREFIX / "lib/libtalentdata.so")).AdbcTalentdataInit
    init.argtypes, init.restype = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p), ctypes.c_uint8
    driver_out = ctypes.create_string_buffer(1024)
    assert [init(1_000_000, driver_out, None), init(1_001_000, None, None), any(driver_out.raw)] == [2, 2, False]
    assert init(1_001_000, driver_out, None) == 0 and any(driver_out.raw)
    static = run("nm", "-g", "--defined-only", "-P", PREFIX / "lib/libtalentdata.a").stdout.splitlines()
    foreign = [line for line in static if " " in line and not line.startswith("talentdata_")]
    assert not foreign, f"the static library exports {foreign}"
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (PREFIX / "share/doc/talentdata" / name).read_bytes() == (ROOT / name).read_bytes()
    # Every header must compile alone.
    for header in sorted((PREFIX / "include").rglob("*.h*")):
        c, cpp = [CC, "-x", "c", "-std=c11", "-Wc++-compat"], [CXX, "-x", "c++", "-std=c++17"]
        compiler = cpp if header.suffix == ".hpp" else c
        include = f"#include <{header.relative_to(PREFIX / 'include')}>\n"
        if header.name == "errors.hpp":
            include = "#include <talentdata/base.hpp>\n"
        run(*compiler, *WARNINGS, "-I", PREFIX / "include", "-fsyntax-only", "-", input=include)


#: Warnings that projects turn into errors: of both languages, of each, and of each for gcc alone.
STRICT = """-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wcast-align -Wundef -Wformat=2
    -Wdouble-promotion -Wfloat-equal -Wmissing-declarations -Wredundant-decls -Wswitch-default -Wswitch-enum
    -Wunused-macros -Wvla"""
STRICT_OF = {
    "c": [
        "-Wc++-compat -Wbad-function-cast -Wmissing-prototypes -Wstrict-prototypes",
        "-Wjump-misses-init -Wlogical-op",
    ],
    "c++": [
        """-Wold-style-cast -Wzero-as-null-pointer-constant -Wextra-semi -Wnon-virtual-dtor -Woverloaded-virtual
        -Wsuggest-override""",
        "-Wuseless-cast -Wlogical-op -Wredundant-move -Wsign-promo -Wmismatched-tags -Wredundant-tags",
    ],
}
#: The name of a standard in compilers before it is published.
DRAFTS = {"c23": "c2x", "c++23": "c++2b", "c++26": "c++2c"}


def warnings(standard: str) -> None:
    """Checks that the headers cause no warning, alone and in one of our tests. Exits with 77 if the standard is unknown."""
    language = standard.rstrip("0123456789")
    compiler = CC if language == "c" else CXX
    compile = [compiler, "-x", language, "-I", PREFIX / "include", "-I", ROOT / "bindings/c/tests", "-fsyntax-only"]
    names = (f"-std={name}" for name in (standard, DRAFTS.get(standard, standard)))
    known = [name for name in names if run(*compile, name, "-", input="", check=False).returncode == 0]
    if not known:
        print(f"{compiler} does not know {standard}: NOT RUN")
        sys.exit(77)
    both, gcc = STRICT_OF[language]
    is_gcc = "clang" not in run(compiler, "--version").stdout
    flags = [known[0], "-D_GNU_SOURCE", *f"{STRICT} {both} {gcc if is_gcc else ''}".split()]
    header = "talentdata.h" if language == "c" else "talentdata.hpp"
    said = run(*compile, *flags, "-", input=f"#include <{header}>\n#include <talentdata/arrow.h>\n").stderr
    assert not said, said
    user = "contract.c" if language == "c" else "surface.cpp"
    said = run(*compile, *flags, ROOT / "bindings/c/tests" / user).stderr
    ours = [line for line in said.splitlines() if line.startswith(f"{PREFIX}/include") and "warning" in line]
    assert not ours, said


HEADS = {
    "c": "#include <talentdata.h>\nvoid use(talentdata_client *client, const talentdata_scan *scan);\n"
    "void use(talentdata_client *client, const talentdata_scan *scan) { (void)client, (void)scan;\n",
    "c++": "#include <talentdata.hpp>\nnamespace td = talentdata;\n"
    "void use(td::client &client, td::scan<td::contact> &scan) { (void)client, (void)scan;\n",
}
#: Mistakes that must cause a warning in C or an error in C++, with words of the message.
MISTAKES = [
    ("c", "talentdata_client_new(NULL, &client);", "ignoring return value of"),
    ("c", "talentdata_scan_cancel(scan);", "discards"),
    (
        "c",
        "talentdata_scan *a; (void)!talentdata_client_list(client, TALENTDATA_FORMAT_CSV, NULL, &a);",
        "incompatible",
    ),
    ("c", "bool text; (void)!talentdata_contact_email(NULL, &text);", "incompatible pointer type"),
    ("c++", "client.try_version();", "nodiscard"),
    ("c++", "auto copy = scan;", "deleted"),
    ("c++", "const talentdata_scan *raw = nullptr; talentdata_scan_cancel(raw);", "const talentdata_scan"),
    ("c++", "(void)client.list(TALENTDATA_FORMAT_CSV);", "no matching"),
    ("c++", "talentdata_job_run(nullptr, nullptr);", "talentdata_job_run"),
    ("c++", 'td::record::parse("1").get<char *>("");', "a record is read as bool, an integer type"),
    ("c++", '(void)client.export_job(td::contacts, "a.csv", {2});', "options"),
]


def misuse() -> None:
    """Checks that each mistake fails to compile, and that the function compiles without it."""

    def compiled(language: str, code: str) -> subprocess.CompletedProcess[str]:
        compiler = [CC, "-x", "c", "-std=c11"] if language == "c" else [CXX, "-x", "c++", "-std=c++17"]
        flags = ["-I", PREFIX / "include", "-c", "-o", "/dev/null", "-"]
        return run(*compiler, *WARNINGS, *flags, input=f"{HEADS[language]}{code}\n}}\n", check=False)

    for language, code, words in MISTAKES:
        assert compiled(language, "").returncode == 0, compiled(language, "").stderr
        said = compiled(language, code)
        assert said.returncode != 0 and words in said.stderr, f"{code}: {words!r} not in {said.stderr}"


#: Takes the value of a call that fails, without exceptions.
ABORTS = """#include <talentdata.hpp>
int main() { return static_cast<int>(talentdata::record::try_parse("{").value().kind()); }
"""


def aborts() -> None:
    """Checks that a program without exceptions prints why it aborts."""
    flags = [*pkg_config("--cflags", "--libs", "talentdata"), f"-Wl,-rpath,{PREFIX}/lib"]
    run(CXX, "-x", "c++", "-std=c++17", "-fno-exceptions", "-", *flags, "-o", "aborts", input=ABORTS)
    done = run("./aborts", check=False)
    assert done.returncode == -signal.SIGABRT and done.stderr.startswith("talentdata: the JSON ends too early"), done


def pkg_config_flags() -> None:
    """Builds a program with a plain compiler: with the shared library, with the static one, and fully static."""
    source = ROOT / "bindings/c/examples/quickstart.c"
    shared = pkg_config("--cflags", "--libs", "talentdata") + [f"-Wl,-rpath,{PREFIX}/lib"]
    private = pkg_config("--cflags", "--libs", "--static", "talentdata")
    static = pkg_config("--cflags", "--libs", "talentdata-static")
    for flags in (shared, private, static, ["-static", *static]):
        run(CC, "-std=c11", source, *flags, "-o", "built_by_hand")
        is_shared = "libtalentdata.so" in run("readelf", "-d", "built_by_hand").stdout
        assert is_shared == (flags is shared), flags
        lines = run("./built_by_hand").stdout.splitlines()
        assert len(lines) == CONTACTS, f"{flags}: {len(lines)} contacts"


#: A library that interrupts the waits of the program that loads it. Calls such as write are restarted.
INTERRUPTS = """#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
static void handled(int signal) { (void)signal; }
__attribute__((constructor)) static void begin(void) {
  const struct sigaction action = {.sa_handler = handled, .sa_flags = SA_RESTART};
  const struct itimerval often = {{0, 2000}, {0, 2000}};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
}
"""


def components(cmake: str) -> None:
    """Checks that a required unknown component is refused, and that the package is found otherwise."""
    for words, message in (
        ("COMPONENTS async", "talentdata has no component async"),
        ("COMPONENTS sandbox", ""),
        ("OPTIONAL_COMPONENTS async", ""),
    ):
        project = (
            f"cmake_minimum_required(VERSION 3.21)\nproject(x LANGUAGES C)\nfind_package(talentdata REQUIRED {words})\n"
        )
        Path("CMakeLists.txt").write_text(project)
        done = run(cmake, "-G", "Ninja", "-B", words.replace(" ", "_"), f"-DCMAKE_PREFIX_PATH={PREFIX}", check=False)
        assert (done.returncode != 0) == bool(message) and message in " ".join(done.stderr.split()), done


def example(program: str) -> None:
    """Checks that an example prints a line for each contact, or their number, although signals interrupt its waits."""
    run(CC, "-x", "c", "-shared", "-fPIC", "-", "-o", "interrupts.so", input=INTERRUPTS)
    interrupted = {**os.environ, "LD_PRELOAD": os.path.abspath("interrupts.so")}
    lines = run(program, env=interrupted).stdout.splitlines()
    assert len(lines) == CONTACTS or lines[0].startswith(f"{CONTACTS} contacts"), lines


def readme() -> None:
    """Compiles and runs every code block of the two pages, with one program for each language."""
    pages = {"c": "README.md", "cpp": "CPP.md"}
    flags = pkg_config("--cflags", "--libs", "talentdata") + [f"-Wl,-rpath,{PREFIX}/lib", "-pthread"]
    for language, compiler in (("c", [CC, "-std=c11", "-D_POSIX_C_SOURCE=200809L"]), ("cpp", [CXX, "-std=c++17"])):
        text = (ROOT / "bindings/c" / pages[language]).read_text()
        # Examples that are files of their own are built as such.
        blocks = re.findall(rf"(?<!-->\n)^```{language}\n(.*?)^```", text, re.M | re.S)
        assert len(blocks) == 6, f"{len(blocks)} blocks of {language}"
        name = f"readme.{language}"
        Path(name).write_text("".join(blocks))
        run(*compiler, *WARNINGS, name, *flags, "-o", f"./readme_{language}")
        said = run(f"./readme_{language}").stdout
        assert f"{CONTACTS} contacts, proven" in said and "changes" in said and "compatible: true" in said, said
        assert "Auth" in said, said


def first_projects(cmake: str) -> None:
    """Builds and runs the projects that the pages begin with, as their readers copy them."""
    for page, name in (("README.md", "main.c"), ("CPP.md", "main.cpp")):
        text = (ROOT / "bindings/c" / page).read_text()
        project, source = re.findall(r"^```(?:cmake|c|cpp)\n(.*?)^```", text, re.M | re.S)[:2]
        directory = Path(f"first_{name}")
        directory.mkdir()
        (directory / "CMakeLists.txt").write_text(project)
        (directory / name).write_text(source)
        run(cmake, "-G", "Ninja", "-S", str(directory), "-B", f"{directory}/build", f"-DCMAKE_PREFIX_PATH={PREFIX}")
        run(cmake, "--build", f"{directory}/build")
        example(f"./{directory}/build/contacts")


def recipe(cmake: str, ctest: str) -> None:
    """Builds and runs the recipe of the C++ page, as a CMake project, with pkg-config, and with no fault."""
    text = (ROOT / "bindings/c/CPP.md").read_text()
    [source] = re.findall(r"^```c\+\+\n(.*?)^```", text, re.M | re.S)
    [project] = re.findall(r"^```cmake\n(cmake_minimum[^`]*enable_testing.*?)^```", text, re.M | re.S)
    assert source.count("\n") <= 42, "a recipe of 42 lines"
    Path("retries_test.cpp").write_text(source)
    Path("CMakeLists.txt").write_text(project)
    run(cmake, "-G", "Ninja", "-B", "built", f"-DCMAKE_PREFIX_PATH={PREFIX}", f"-DCMAKE_CXX_COMPILER={CXX}")
    run(cmake, "--build", "built")
    run(ctest, "--test-dir", "built", "--output-on-failure", "--no-tests=error")
    for kind in ([], ["--static"]):
        flags = [*pkg_config("--cflags", "--libs", *kind, "talentdata-sandbox"), f"-Wl,-rpath,{PREFIX}/lib"]
        # The assertions notice when the service fails only once.
        for name, faults in (("with", source), ("without", source.replace('"nth": 1', '"nth": 9', 1))):
            run(CXX, "-x", "c++", "-std=c++17", "-", "-x", "none", *flags, "-o", name, input=faults)
            ended = run(f"./{name}", check=False).returncode
            assert ended == (0 if name == "with" else -signal.SIGABRT), f"{kind} {name}: {ended}"


def environments(program: str) -> None:
    """Checks that a client with explicit settings reads the same in an empty and in a hostile environment."""
    names = set(re.findall(r"TALENTDATA_[A-Z_]+", (ROOT / "docs/settings.md").read_text()))
    assert len(names) > 20, names
    profile = Path("config/talentdata/profiles.toml")
    profile.parent.mkdir(parents=True)
    profile.write_text("[default\nbase_url = 1\n")
    profile.chmod(0o777)
    hostile = dict.fromkeys(names, "no such value")
    hostile |= dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), "http://127.0.0.1:1")
    hostile["XDG_CONFIG_HOME"] = os.path.abspath("config")
    alone = run(program, env={}).stdout
    assert alone.count("\n") == 27, alone
    assert run(program, env=hostile).stdout == alone
    # With the settings of the environment, the program fails.
    taken = run(program, "environment", env=hostile, check=False)
    assert taken.returncode == 1 and "mode 0777" in taken.stderr, taken


#: Values of every kind in one record. Of the two members named level, the second one wins.
VALUES = r"""{"tasks":[{"id":"1","count":9007199254740993,"share":0.25,"big":1e400,"open":true,"none":null,
"skills":[{"name":"C\u002b\u002b","level":3},{"name":"Rust","level":-4,"level":4}],"empty":[],
"a/b":{"~":"x"}}],"pagination":{"total":1,"limit":100,"offset":0,"hasMore":false}}"""
TWO_OF_FOUR = {
    "roles": [{"id": "1"}, {"id": "2"}],
    "pagination": {"total": 4, "limit": 2, "offset": 0, "hasMore": True},
}
TWO_OF_ONE = {
    "skills": [{"id": "1"}, {"id": "2"}],
    "pagination": {"total": 1, "limit": 100, "offset": 0, "hasMore": False},
}
RULES = [
    {"match": {"path": "/v1/taxonomy/skills"}, "reply": {"body": TWO_OF_ONE}},
    {"match": {"path": "/v1/ja/tasks"}, "reply": {"body": VALUES}},
    {"match": {"path": "/v1/taxonomy/roles", "nth": 1}, "reply": {"body": TWO_OF_FOUR}},
    {"match": {"path": "/v1/taxonomy/roles"}, "reply": {"status": 404}},
    {"match": {"path": "/v1/ja/departments", "nth": 2}, "reply": {"delay_ms": 600_000}},
]


def served(*command: str) -> None:
    """Runs a program with its own budget and its own sandbox, which applies RULES to some requests."""
    records = [f"--records=contacts={CONTACTS}", "--records=ja_departments=19"]
    with Sandbox(os.environ["TALENTDATA"], "--faults", "--policy=unlimited", *records) as service:
        service.ask("/__faults", {"rules": RULES})
        done = subprocess.run(command, env={**service.variables, "XDG_RUNTIME_DIR": os.getcwd()})
    sys.exit(done.returncode)


#: The ways in which a process ends, and the threads that end it.
WAYS = [
    (how, where)
    for how in ("exit", "_exit", "quick_exit", "abort", "caught")
    for where in ("main", "thread", "callback", "signal", "child")
]
WAYS += [("return", "main"), ("pthread_exit", "main")]


def in_time(*command: str, **variables: str) -> str | None:
    """Returns a message if a command does not end silently and in time, else None."""
    try:
        done = run(*command, check=False, timeout=60, env=variables, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"{command[1:]} has not ended"
    wanted = -signal.SIGABRT if command[1] == "abort" and command[2] != "child" else 0
    said = done.stdout + done.stderr
    return f"{command[1:]} ended with {done.returncode}: {said}" if said or done.returncode != wanted else None


def endings(program: str) -> None:
    """Tests every way to end a process, with and without another thread in calls."""
    every(program, *([*way, *busy] for way in WAYS for busy in ([], ["busy"])))


def loads(program: str, *modules: str) -> None:
    """Tests modules that are loaded and closed, with and without freed clients."""
    every(program, *([module, client] for module in modules for client in ("free", "keep")))


def every(program: str, *arguments: list[str]) -> None:
    """Checks that a program is silent with each of these arguments, each time with its own sandbox."""
    sizes = [f"--records=contacts={CONTACTS}"]
    with Sandbox(os.environ["TALENTDATA"], "--policy=unlimited", *sizes) as service, ThreadPoolExecutor(4) as threads:
        wrong = [
            said for said in threads.map(lambda one: in_time(program, *one, **service.variables), arguments) if said
        ]
    assert not wrong, "\n".join(wrong)


def cases(program: str) -> None:
    """Checks every case of tests/cases, each with its own sandbox."""
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
    arguments = [f"--records={list}={count}" for list, count in options.pop("records", {}).items()]
    for option, value in options.items():
        flag = f"--{option.replace('_', '-')}"
        arguments.append(flag if value is True else f"{flag}={value}")
    with Sandbox(os.environ["TALENTDATA"], "--faults", "--policy=unlimited", *arguments) as service:
        service.ask("/__faults", {"rules": case["rules"]})
        secret = settings.pop("client_secret", service.variables["TALENTDATA_CLIENT_SECRET"])
        environment = {**service.variables, "TALENTDATA_CLIENT_SECRET": secret}
        flags = [f"--{name}={value}" for name, value in settings.items()]
        done = run(program, *flags, *words(case["do"]), env=environment, check=False)
        assert done.returncode == 0, f"the program ended with {done.returncode}: {done.stderr}"
        requests = service.ask("/__stats")["requests_by_path"]
    cases.compare(expect, json.loads(done.stdout), requests, secret, done.stdout + done.stderr)


def words(verb: Any) -> list[object]:
    """Returns the arguments of the program for the action of a case."""
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
