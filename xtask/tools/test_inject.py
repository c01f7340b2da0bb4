"""The part `inject` of the tests: commands, a Python and a C program run with failing system calls and with limits of the
system. None panics, hangs, or succeeds with missing results. Each names the reason, and the next run succeeds."""

import collections
import concurrent.futures
import errno
import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import dist
import test_c
from commands import PYTHON_TESTS, ROOT, Failure, build, environment, install, succeed, target, wheel
from test_services import Sandbox

#: The calls on files that fail, and their errors.
FILES = {
    "openat": "EACCES EMFILE ENFILE ENOSPC EROFS EIO EINTR ENOMEM ELOOP ESTALE EDQUOT EPERM",
    "read,pread64": "EIO ESTALE EINTR",
    "write,pwrite64": "ENOSPC EDQUOT EFBIG EIO EINTR",
    "fchmod": "EPERM EROFS EIO",
    "fsync,fdatasync": "EIO ENOSPC EDQUOT EROFS EINTR",
    "rename,renameat,renameat2": "EACCES EBUSY EXDEV ENOSPC EROFS EIO EPERM",
    "unlink,unlinkat,rmdir": "EACCES EBUSY EIO EROFS EPERM",
    "mkdir,mkdirat": "EACCES ENOSPC EDQUOT EROFS EMLINK EIO",
    "ftruncate": "EIO ENOSPC EINTR",
    "flock": "ENOLCK EIO EINTR",
    "fcntl": "ENOLCK EACCES EIO",
    "statx,newfstatat": "EIO EACCES ESTALE ENOMEM",
    "getdents64": "EIO ESTALE",
}
#: The calls on sockets that fail, which a client repeats.
SOCKETS = {
    "socket": "EMFILE ENFILE ENOBUFS EACCES",
    "connect": "ECONNREFUSED ENETUNREACH ETIMEDOUT EADDRNOTAVAIL EPERM",
    "sendto,writev,sendmsg": "ECONNRESET EPIPE ENOBUFS",
    "recvfrom": "ECONNRESET ETIMEDOUT",
}
#: The calls that request resources from the system, and their errors.
MEANS = {
    "pipe2,socketpair,eventfd2,epoll_create1": "EMFILE ENFILE ENOMEM",
    "epoll_ctl": "ENOSPC ENOMEM",
    "clone3": "EAGAIN",
}
#: The calls that fail for a Python and a C program.
FEW = {name: FILES[name] for name in ("openat", "read,pread64", "write,pwrite64", "rename,renameat,renameat2")}
FEW["connect"] = SOCKETS["connect"]
#: The program in Python. The program in C is inject.c.
PYTHON = "import sys, talentdata\ntalentdata.Client().contacts.export(sys.argv[1], page_size=100, resume=True)\n"
#: Files that an export cannot replace: the command that makes a file irreplaceable, the command that undoes this, and the
#: words of the refusal.
IRREPLACEABLE = [
    ("mount --bind {} {}", "umount {}", "is a mount point"),
    ("chattr +i {}", "chattr -i {}", "is immutable or append only"),
    ("chattr +a {}", "chattr -a {}", "is immutable or append only"),
]
#: The limits of `prlimit`, each with ten values. The last values have no effect.
LIMITS = {
    "nofile": (3, 4, 5, 6, 8, 10, 12, 14, 17, 64),
    "nproc": (0, 1, 2, 3, 4, 5, 6, 8, 12, 4096),
    "fsize": (0, 1, 100, 4096, 16384, 40000, 70000, 100000, 200000, 10000000),
    "as": tuple(million << 20 for million in (70, 75, 80, 90, 100, 128, 192, 256, 512, 4096)),
}
#: Other messages for an error.
SYNONYMS = {
    "ENOSPC": ["disk is full", "is full or fails"],
    "EMFILE": ["too many open files"],
    "EAGAIN": ["memory allocation of"],
    "ENOMEM": ["memory allocation of", "out of memory"],
}
#: The expected messages for a limit.
REASONS = {
    "nofile": ["Too many open files", "error while loading shared libraries"],
    "nproc": ["Resource temporarily unavailable"],
    "fsize": ["File too large", "disk is full", "is full or fails"],
    "as": [
        "memory allocation of",
        "Cannot allocate memory",
        "Resource temporarily unavailable",
        "out of memory",
        "error while loading shared libraries",
    ],
}
#: The first of the user IDs that run nothing else.
USERS = 60000
#: The maximum time of a run, in seconds. The client waits one second for a service that is down.
BOUND = 30
#: The maximum number of cases of a command. If there are more, a sample is used.
MOST = int(os.environ.get("TALENTDATA_INJECT", "150"))
CONTACTS = 300

Ended = collections.namedtuple("Ended", "code text")


class Command:
    """A command with absolute paths in a folder, and the files that exist before it and after it. `again` is the command
    after a failure, if it differs."""

    def __init__(self, name, words, outputs=(), before=(), again=None, groups=(FILES, SOCKETS, MEANS)):
        self.name, self.words, self.outputs, self.before, self.groups = name, words.split(), outputs, before, groups
        self.again = (again or words).split()


def commands():
    """Yields the commands of the program, and an export in Python and in C."""
    export = "talentdata export contacts --page-size 100 --receipt {}/r.json --out {}/"
    mirror = {"before": ["mirror.db", "mirror.db.lock"]}
    for name in ("jsonl", "csv", "parquet", "arrow"):
        yield Command(f"export {name}", f"{export}a.{name}", [f"a.{name}"], again=f"{export}a.{name} --resume")
    yield Command("export --resume", f"{export}kept.jsonl --resume", ["kept.jsonl"], ["kept.jsonl.part"])
    yield Command("export replaces", f"{export}old.csv", ["old.csv"], ["old.csv"], again=f"{export}old.csv --resume")
    yield Command("export -", "talentdata export contacts --page-size 100 --out -", ["-"])
    yield Command("sync new", "talentdata sync contacts --to {}/new.db", ["new.db"])
    yield Command("sync", "talentdata sync contacts --to {}/mirror.db", ["mirror.db"], **mirror)
    for name in ("jsonl", "parquet"):
        words = f"talentdata changes contacts --from {{}}/mirror.db --receipt {{}}/r.json --out {{}}/c.{name}"
        yield Command(f"changes {name}", words, [f"c.{name}"], groups=(FILES, MEANS), **mirror)
    words = "talentdata export contacts --from {}/mirror.db --out {}/m.csv"
    yield Command("export --from", words, ["m.csv"], groups=(FILES, MEANS), **mirror)
    yield Command(
        "forget",
        "talentdata forget contacts --from {}/mirror.db",
        again="talentdata verify {}/mirror.db",
        groups=(FILES,),
        **mirror,
    )
    yield Command("verify", "talentdata verify {}/mirror.db", groups=(FILES,), **mirror)
    yield Command("budget", "talentdata budget --json", groups=(FILES, MEANS))
    yield Command(
        "page",
        "talentdata page contacts --limit 3 --client-secret-file {}/secret --profile some",
        ["-"],
        [".config", "secret"],
    )
    yield Command(
        "verify FILE", "talentdata verify {}/old.csv {}/old.json", before=["old.csv", "old.json"], groups=(FILES,)
    )
    yield Command(
        "export --schema",
        f"{export}s.csv --schema {{}}/schema.json",
        ["s.csv"],
        ["schema.json"],
        again=f"{export}s.csv --schema {{}}/schema.json --resume",
    )
    yield Command("export in Python", "python {}/../export.py {}/p.jsonl", ["p.jsonl"], groups=(FEW,))
    yield Command("export in C", "c {}/c.parquet", ["c.parquet"], groups=(FEW,))


class Trials:
    """Runs commands against a sandbox, each in its own folder."""

    def __init__(self, programs, sandbox, folder):
        self.programs, self.folder = programs, folder
        patience = {"TALENTDATA_MAX_OUTAGE": "1", "TALENTDATA_TIMEOUT": "4", "TALENTDATA_MAX_WAIT": "1"}
        self.variables = {**sandbox.variables, **patience, "RUST_BACKTRACE": "0"}
        self.template = self.place("template")
        made = [
            "talentdata sync contacts --to {}/mirror.db",
            "talentdata export contacts --out {}/old.csv --limit 3 --receipt {}/old.json",
            "talentdata schema contacts",
        ]
        for words in made:
            ended = self.run(self.template, words.split())
            if ended.code not in (0, 31):
                raise Failure(f"{words}: {ended.text}")
        shutil.copy(self.template / "-", self.template / "schema.json")
        (self.template / "secret").write_text(self.variables["TALENTDATA_CLIENT_SECRET"])
        (self.template / ".config/talentdata").mkdir(parents=True)
        (self.template / ".config/talentdata/profiles.toml").write_text("[some]\ntimeout = 4\n")
        for name in ("secret", ".config/talentdata/profiles.toml"):
            (self.template / name).chmod(0o600)
        (folder / "export.py").write_text(PYTHON)
        # This export is interrupted.
        words = "strace -qq -o /dev/null -f -P {}/kept.jsonl.part/data -e trace=rename -e inject=rename:error=EBUSY talentdata export contacts --page-size 100 --out {}/kept.jsonl"
        if self.run(self.template, words.split()).code != 32 or not (self.template / "kept.jsonl.part").is_dir():
            raise Failure("no export was interrupted")
        self.number = itertools.count()

    def place(self, name):
        """Returns a new folder."""
        place = self.folder / str(name)
        (place / "run").mkdir(parents=True, mode=0o700)
        return place

    def begin(self, command):
        """Returns a folder with the files that exist before the command."""
        place = self.place(next(self.number))
        for name in command.before:
            source = self.template / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, place / name)
        return place

    def run(self, place, words, before=(), **options):
        words = [str(word).replace("{}", str(place)) for word in [*before, *words]]
        words = [str(self.programs.get(word, word)) for word in words]
        variables = {**self.variables, "HOME": str(place), "XDG_RUNTIME_DIR": str(place / "run"), "TMPDIR": str(place)}
        with (place / "-").open("wb") as stdout:
            process = subprocess.Popen(
                words,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.PIPE,
                start_new_session=True,
                cwd=place,
                **options,
            )
            try:
                text = process.communicate(timeout=BOUND)[1]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return Ended(None, process.communicate()[1].decode(errors="replace"))
        return Ended(process.returncode, text.decode(errors="replace"))

    def result(self, place, command):
        """Returns the result of the command: the bytes of files, and the records of mirrors."""
        found = []
        for name in command.outputs:
            path = place / name
            if name.endswith(".db"):
                copy = self.run(place, ["talentdata", "export", "contacts", "--from", path, "--out", "-"])
                found.append((place / "-").read_bytes() if copy.code == 0 else copy.text)
            else:
                found.append(path.read_bytes() if path.exists() else None)
        return found

    def wanted(self, command):
        """Returns the result without a fault, the paths that the command uses, and the largest number of each call in one thread."""
        place = self.begin(command)
        log = place / "log"
        calls = sorted({call for group in command.groups for names in group for call in names.split(",")})
        strace = ["strace", "-f", "-qq", "-y", "-s", "0", "-o", log, "-e", f"trace={','.join(calls)}"]
        ended = self.run(place, command.words, before=strace)
        if ended.code not in (0, 31):
            raise Failure(f"{command.name}: {ended.text}")
        paths, counts = set(), collections.Counter()
        for line in log.read_text().splitlines():
            thread, call = re.match(r"(\d+) +(\w+)?", line).groups()
            found = re.findall(rf'["<]{place}/([^">]+)[">]', line)
            paths.update(name for name in found if name != "log")
            # Of the calls on files, only those on our files count. strace counts `when` for each thread.
            if call and (found or not any(call in names.split(",") for names in FILES)):
                counts[call, thread] += 1
        most = collections.Counter()
        for (call, _), count in counts.items():
            most[call] = max(most[call], count)
        result = self.result(place, command)
        shutil.rmtree(place)
        return result, ended.code, sorted(paths), most

    def judge(self, command, good, reasons, before, **options):
        """Returns a sentence about the failure of a run under a fault, or None if the run is right."""
        place = self.begin(command)
        if "user" in options:
            for path in [place, *place.rglob("*")]:
                shutil.chown(path, options["user"])
        ended = self.run(place, command.words, before=before, **options)
        why = self.fault(command, place, good, reasons, ended)
        if not why and ended.code not in (0, 31):
            # The next run has its own budget, because the budget of the previous run waits for a service that is down.
            shutil.rmtree(place / "run")
            again = self.run(place, command.again, **options)
            if again.code not in (0, 31) or self.result(place, command) != good[0]:
                why = f"the next run does not succeed ({again.code}): {again.text}"
        shutil.rmtree(place)
        return why and f"{command.name}: {why.strip()}\n    {ended.code}: {ended.text.strip()[:600]}"

    def fault(self, command, place, good, reasons, ended):
        if ended.code is None:
            return "hangs"
        # The signal thread reads from its own socket pair, which does not fail like a connection.
        if (
            ended.text.count("panicked") > ended.text.count("thread 'talentdata-signals'")
            or "please report" in ended.text
        ):
            return "panics"
        is_named = any(reason.lower() in ended.text.lower() for reason in reasons)
        if ended.code < 0 or ended.code > 128 and ended.code != 141:
            # Without memory, the runtime ends like this, with a message.
            return None if is_named and ended.code in (-signal.SIGABRT, 128 + signal.SIGABRT) else "crashes"
        if ended.code == good[1]:
            return None if self.result(place, command) == good[0] else "succeeds with an incomplete result"
        return None if is_named else "does not name the reason"


def cases(command, good):
    """Yields the faults of a command: the words that precede it, and the expected messages, any of which is right."""
    _, _, paths, counts = good
    ours = [word for name in paths for word in ("-P", f"{{}}/{name}")]
    for group in command.groups:
        for names, errors in group.items():
            most = max((counts[call] for call in names.split(",")), default=0)
            whens = sorted({1, 2, 3, most // 3, most // 2, most - 1, most} & set(range(1, most + 1)))
            if names == "clone3":
                # Some libraries panic if they get no thread, so the program checks before that enough threads are
                # available.
                whens = ["1+"]
            elif names == "openat":
                # SQLite opens a file again as read-only.
                whens = [f"{when}+" for when in whens]
            elif most:
                whens.append("1+")
            for error, when in itertools.product(errors.split(), whens):
                # An interrupted call is repeated.
                when = str(when).rstrip("+" if error == "EINTR" else "")
                for call in (call for call in names.split(",") if counts[call]):
                    strace = [
                        "strace",
                        "-f",
                        "-qq",
                        "-o",
                        "/dev/null",
                        "-e",
                        f"trace={call}",
                        "-e",
                        f"inject={call}:error={error}:when={when}",
                    ]
                    yield (
                        [*strace, *(ours if names in FILES else [])],
                        [os.strerror(getattr(errno, error)), *SYNONYMS.get(error, [])],
                    )


def sample(all_cases):
    """Returns at most `MOST` cases, evenly distributed over the list."""
    all_cases = list(all_cases)
    step = max(1, -(-len(all_cases) // MOST))
    return (
        [case for index, case in enumerate(all_cases) if index % step == index // step % step]
        if step > 1
        else all_cases
    )


def run():
    for program in ("strace", "prlimit"):
        if not shutil.which(program):
            print(f"NOT RUN: {program} is not installed", flush=True)
            return
    options = ["--policy", "unlimited", "--faults", "--records", f"contacts={CONTACTS}"]
    with tempfile.TemporaryDirectory() as folder:
        programs = made(Path(folder))
        Path(folder).chmod(0o711)
        with Sandbox(programs["talentdata"], *options) as sandbox:
            faults = irreplaceable(Trials(programs, sandbox, Path(folder) / "strange"), sandbox)
            faults += inject(Trials(programs, sandbox, Path(folder) / "trials"))
        if faults:
            raise Failure(f"{faults} faults are not handled correctly")


def made(folder):
    """Builds the command line, Python with the package, and the program in C, and returns their paths."""
    files = build(*test_c.BUILD)
    prefix, program = folder / "prefix", folder / "program"
    dist.install(files, prefix)
    options = ["-Wall", "-Wextra", "-Werror", f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"]
    succeed("cc", *options, "-o", program, ROOT / "xtask/tools/inject.c", "-ltalentdata")
    programs = environment(target() / "python/tests", PYTHON_TESTS)
    bare = environment(target() / "python/bare")
    install(bare, wheel(programs, target() / "python/wheel", "--profile", "dev"))
    return {"talentdata": files["talentdata"], "python": bare / "python", "c": program}


def irreplaceable(trials, sandbox):
    """Returns the number of outputs that cannot be replaced, but are not refused or are refused after requests."""
    if os.geteuid() != 0:
        print("NOT RUN: outputs that cannot be replaced, which only root can create", flush=True)
        return 0
    faults = 0

    def refused(place, words, **options):
        before = sandbox.ask("/__stats")
        ended = trials.run(place, "talentdata export contacts --out {}/out.csv".split(), **options)
        if (
            ended.code == 39
            and words in ended.text
            and sandbox.ask("/__stats") == before
            and not (place / "out.csv.part").exists()
        ):
            return 0
        print(f"  not refused correctly ({words}): {ended.code}: {ended.text}", flush=True)
        return 1

    for number, (make, undo, words) in enumerate(IRREPLACEABLE):
        place = trials.place(f"irreplaceable{number}")
        path = place / "out.csv"
        path.write_text("older")
        done = subprocess.run(make.replace("{}", str(path)).split(), stderr=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"NOT RUN: {make}: {done.stderr.strip()}", flush=True)
            continue
        try:
            faults += refused(place, words)
        finally:
            succeed(*undo.replace("{}", str(path)).split())
    place = trials.place("sticky")
    (place / "out.csv").write_text("older")
    for path in ("-", "run"):
        (place / path).touch()
        shutil.chown(place / path, USERS)
    place.chmod(0o1777)
    return faults + refused(place, "sticky bit", user=USERS)


def inject(trials):
    """Returns the number of faults that are not handled correctly."""
    faults = 0
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        for command in commands():
            good = trials.wanted(command)
            jobs = [(before, reasons, {}) for before, reasons in sample(cases(command, good))]
            for limit, values in LIMITS.items() if FEW not in command.groups else ():
                # Limits on threads do not apply to root.
                users = [{"user": USERS + number} if limit == "nproc" else {} for number in range(len(values))]
                jobs += [
                    (["prlimit", f"--{limit}={value}"], REASONS[limit], user) for value, user in zip(values, users)
                ]
            found = pool.map(lambda job: trials.judge(command, good, job[1], job[0], **job[2]), jobs)
            bad = [(before, why) for (before, _, _), why in zip(jobs, found) if why]
            print(f"{command.name}: {len(jobs)} faults, {len(bad)} not handled correctly", flush=True)
            for before, why in bad:
                shown = [word for word in before if word.startswith(("inject", "--"))]
                print(f"  {' '.join(shown)}: {why}", flush=True)
            faults += len(bad)
    return faults
