"""The part `inject` of the tests: commands, a Python and a C program whose system calls fail, and that run into limits of the
system. None panics, hangs, or ends well with something missing; each names the reason, and the next run succeeds."""

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

from commands import PYTHON_PROJECT, ROOT, Failure, build, environment, install, only, output, succeed, target, wheel
from test_services import Sandbox

#: The calls on files that fail, and with what.
FILES = {
    "openat": "EACCES EMFILE ENFILE ENOSPC EROFS EIO EINTR ENOMEM ELOOP ESTALE EDQUOT EPERM",
    "read,pread64": "EIO ESTALE EINTR",
    "write,pwrite64": "ENOSPC EDQUOT EFBIG EIO EINTR",
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
#: The calls on sockets, for which a client has patience.
SOCKETS = {
    "socket": "EMFILE ENFILE ENOBUFS EACCES",
    "connect": "ECONNREFUSED ENETUNREACH ETIMEDOUT EADDRNOTAVAIL EPERM",
    "sendto,writev,sendmsg": "ECONNRESET EPIPE ENOBUFS",
    "recvfrom": "ECONNRESET ETIMEDOUT",
}
#: The calls with which a program gets its means from the system.
MEANS = {
    "pipe2,socketpair,eventfd2,epoll_create1": "EMFILE ENFILE ENOMEM",
    "epoll_ctl": "ENOSPC ENOMEM",
    "clone3": "EAGAIN",
}
#: The limits of `prlimit`, each at ten values, of which the last hinder nobody.
LIMITS = {
    "nofile": (3, 4, 5, 6, 8, 10, 12, 14, 17, 64),
    "nproc": (0, 1, 2, 3, 4, 5, 6, 8, 12, 4096),
    "fsize": (0, 1, 100, 4096, 16384, 40000, 70000, 100000, 200000, 10000000),
    "as": tuple(million << 20 for million in (70, 75, 80, 90, 100, 128, 192, 256, 512, 4096)),
}
#: Other words for a reason.
SYNONYMS = {
    "ENOSPC": ["disk is full"],
    "EMFILE": ["too many open files"],
    "EAGAIN": ["memory allocation of"],
    "ENOMEM": ["memory allocation of", "out of memory"],
}
#: What a limit does is one of these.
REASONS = {
    "nofile": ["Too many open files", "error while loading shared libraries"],
    "nproc": ["Resource temporarily unavailable"],
    "fsize": ["File too large", "disk is full"],
    "as": ["memory allocation of", "Cannot allocate memory", "Resource temporarily unavailable", "out of memory", "error while loading shared libraries"],
}
#: Users that run nothing else.
USERS = 60000
#: No run takes longer, in seconds; the patience of the client is set to one.
BOUND = 30
#: More cases of a command than these are a sample of all.
MOST = int(os.environ.get("TALENTDATA_INJECT", "150"))
CONTACTS = 300

Ended = collections.namedtuple("Ended", "code text seconds")


class Command:
    """A command with absolute paths in a folder, and what is there before it and after it. `again` is what is run after it
    has failed, if it is another one."""

    def __init__(self, name, words, outputs=(), before=(), again=None, groups=(FILES, SOCKETS, MEANS)):
        self.name, self.words, self.outputs, self.before, self.groups = name, words.split(), outputs, before, groups
        self.again = (again or words).split()


def commands():
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
    yield Command("forget", "talentdata forget contacts --from {}/mirror.db", again="talentdata verify {}/mirror.db", groups=(FILES,), **mirror)
    yield Command("verify", "talentdata verify {}/mirror.db", groups=(FILES,), **mirror)
    yield Command("budget", "talentdata budget --json", groups=(FILES, MEANS))


class Trials:
    """Runs commands against a sandbox, each in a folder of its own."""

    def __init__(self, program, sandbox, folder):
        self.program, self.folder = program, folder
        patience = {"TALENTDATA_MAX_OUTAGE": "1", "TALENTDATA_TIMEOUT": "4", "TALENTDATA_MAX_WAIT": "1"}
        self.variables = {**sandbox.variables, **patience, "HOME": str(folder), "RUST_BACKTRACE": "0"}
        self.template = self.place("template")
        made = [
            "talentdata sync contacts --to {}/mirror.db",
            "talentdata export contacts --out {}/old.csv --limit 3",
        ]
        for words in made:
            ended = self.run(self.template, words.split())
            if ended.code not in (0, 31):
                raise Failure(f"{words}: {ended.text}")
        # An export that was interrupted.
        words = "strace -qq -o /dev/null -f -P {}/kept.jsonl.part/data -e trace=rename -e inject=rename:error=EBUSY talentdata export contacts --page-size 100 --out {}/kept.jsonl"
        if self.run(self.template, words.split()).code != 32 or not (self.template / "kept.jsonl.part").is_dir():
            raise Failure("no export was interrupted")
        self.number = itertools.count()

    def place(self, name):
        place = self.folder / str(name)
        (place / "run").mkdir(parents=True, mode=0o700)
        return place

    def begin(self, command):
        """A folder with what is there before the command."""
        place = self.place(next(self.number))
        for name in command.before:
            source = self.template / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, place / name)
        return place

    def run(self, place, words, before=(), **options):
        words = [str(word).replace("{}", str(place)) for word in [*before, *words]]
        words = [self.program if word == "talentdata" else word for word in words]
        variables = {**self.variables, "XDG_RUNTIME_DIR": str(place / "run"), "TMPDIR": str(place)}
        with (place / "-").open("wb") as stdout:
            process = subprocess.Popen(words, env=variables, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, start_new_session=True, cwd=place, **options)
            try:
                text = process.communicate(timeout=BOUND)[1]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return Ended(None, process.communicate()[1].decode(errors="replace"), BOUND)
        return Ended(process.returncode, text.decode(errors="replace"), 0)

    def result(self, place, command):
        """What the command leaves: the bytes of files, and the records of mirrors."""
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
        """The result without a fault, the paths that the command uses, and how often one thread does each call."""
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
            # Of those on files, only the ones on ours count; `when` is a number for each thread.
            if call and (found or not any(call in names.split(",") for names in FILES)):
                counts[call, thread] += 1
        most = collections.Counter()
        for (call, _), count in counts.items():
            most[call] = max(most[call], count)
        result = self.result(place, command)
        shutil.rmtree(place)
        return result, ended.code, sorted(paths), most

    def judge(self, command, good, reasons, before, **options):
        """What is wrong with a run under a fault, as a sentence; None if nothing is."""
        place = self.begin(command)
        if "user" in options:
            for path in [place, *place.rglob("*")]:
                shutil.chown(path, options["user"])
        ended = self.run(place, command.words, before=before, **options)
        why = self.fault(command, place, good, reasons, ended)
        if not why and ended.code not in (0, 31):
            # Not in the budget of the run before, which waits for a service that is down.
            shutil.rmtree(place / "run")
            again = self.run(place, command.again, **options)
            if again.code not in (0, 31) or self.result(place, command) != good[0]:
                why = f"the next run does not succeed ({again.code}): {again.text}"
        shutil.rmtree(place)
        return why and f"{command.name}: {why.strip()}\n    {ended.code}: {ended.text.strip()[:600]}"

    def fault(self, command, place, good, reasons, ended):
        if ended.code is None:
            return "hangs"
        if ended.text.count("panicked") > ended.text.count("thread 'talentdata-signals'") or "please report" in ended.text:
            return "panics"
        is_named = any(reason.lower() in ended.text.lower() for reason in reasons)
        if ended.code < 0 or ended.code > 128 and ended.code != 141:
            # The runtime ends so when it gets no memory, and says so.
            return None if is_named and ended.code in (-signal.SIGABRT, 128 + signal.SIGABRT) else "crashes"
        if ended.code == good[1]:
            return None if self.result(place, command) == good[0] else "ends well with something missing"
        return None if is_named else "does not name the reason"


def cases(command, good):
    """The faults of a command: what is put before it, and the words of which its message has one."""
    _, _, paths, counts = good
    ours = [word for name in paths for word in ("-P", f"{{}}/{name}")]
    for group in command.groups:
        for names, errors in group.items():
            most = max((counts[call] for call in names.split(",")), default=0)
            whens = sorted({1, 2, 3, most // 3, most // 2, most - 1, most} & set(range(1, most + 1)))
            if names == "clone3":
                # Some libraries panic if they get no thread, so as many as they need are tried before.
                whens = ["1+"]
            elif names == "openat":
                # SQLite opens a file again, only to read it.
                whens = [f"{when}+" for when in whens]
            elif most:
                whens.append("1+")
            for error, when in itertools.product(errors.split(), whens):
                # A call that is interrupted is repeated.
                when = str(when).rstrip("+" if error == "EINTR" else "")
                for call in (call for call in names.split(",") if counts[call]):
                    strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"]
                    yield [*strace, *(ours if group is FILES else [])], [os.strerror(getattr(errno, error)), *SYNONYMS.get(error, [])]


def sample(all_cases):
    """At most so many, from everywhere in the list."""
    all_cases = list(all_cases)
    step = max(1, -(-len(all_cases) // MOST))
    return [case for index, case in enumerate(all_cases) if index % step == index // step % step] if step > 1 else all_cases


def run():
    for program in ("strace", "prlimit"):
        if not shutil.which(program):
            print(f"NOT RUN: {program} is not installed", flush=True)
            return
    program = build("-p", "talentdata-cli", "--bin", "talentdata")["talentdata"]
    options = ["--policy", "unlimited", "--records", f"contacts={CONTACTS}"]
    with tempfile.TemporaryDirectory() as folder, Sandbox(program, *options) as sandbox:
        Path(folder).chmod(0o711)
        tried = Trials(program, sandbox, Path(folder))
        faults = 0
        with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            for command in commands():
                good = tried.wanted(command)
                jobs = [(before, reasons, {}) for before, reasons in sample(cases(command, good))]
                for limit, values in LIMITS.items():
                    # Root has as many threads as it likes.
                    jobs += [(["prlimit", f"--{limit}={value}"], REASONS[limit], {"user": USERS + number} if limit == "nproc" else {}) for number, value in enumerate(values)]
                found = pool.map(lambda job: (job, tried.judge(command, good, job[1], job[0], **job[2])), jobs)
                bad = [(job, why) for job, why in found if why]
                print(f"{command.name}: {len(jobs)} faults, {len(bad)} not as they should be", flush=True)
                for (before, _, _), why in bad:
                    shown = [word for word in map(str, before) if word.startswith(("inject", "--"))]
                    print(f"  {' '.join(shown)}: {why}", flush=True)
                faults += len(bad)
        if faults:
            raise Failure(f"{faults} faults")
