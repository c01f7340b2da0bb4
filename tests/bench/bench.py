"""This client beside others, on the sandbox: `cargo xtask bench` runs it, and it writes tests/bench/RESULTS.md.

Usage: bench.py [SECTION] [--quick]. A section can be measured alone: it replaces its own tables, and the others stay. A quick
run measures less, prints its tables, and leaves the file alone.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from tools import BENCH, Failure, Sandbox, Tools, Usage, Valkey, run

RESULTS = BENCH / "RESULTS.md"
#: The documented limit in requests per second, and what the neighbour takes of it.
LIMIT, NEIGHBOUR = 40, 10
#: Each with resets in whole seconds, rounded up.
POLICIES = ["clock-window", "first-request-window", "sliding-log", "sliding-counter", "token-bucket"]


@dataclass
class Size:
    """Full pages within the limit, records without one, rounds of each way."""

    pages: int
    records: int
    rounds: int


def table(titles, rows):
    lines = [titles, ["---"] + ["---:"] * (len(titles) - 1), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def percent(part):
    return f"{100 * part:.1f} %"


def spread(values):
    values = list(values)
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def refusals(share, refused):
    return percent(share) + (f", {refused} × 429" if refused else "")


def at_once(work, items):
    """Does the work for all items at the same time."""
    items = list(items)
    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(work, items))


# Within the rate limit: how much of it each client uses, what it costs, and what is lost on the way.


@dataclass
class Trial:
    """One client that reads the contacts of one sandbox."""

    usage: Usage
    records: int
    lost: int
    repeated: int
    served: int
    refused: int
    seconds: float
    neighbour_served: float = 1.0

    @property
    def share(self):
        return self.served / self.seconds / LIMIT


#: Side by side, so that those that compute a lot do not take the processor from those that keep time.
GROUPS = [
    {
        "talentdata, command line": lambda tools, out: [tools.talentdata, "export", "contacts", "--out", out],
        "talentdata, Rust": lambda tools, _: [tools.scan, "lines"],
    },
    {
        "serial by the documented rule, httpx": lambda tools, _: tools.peer("serial"),
        "asyncio with a limiter of 40/s, aiohttp": lambda tools, _: tools.peer("limited"),
        "openapi-python-client, serial": lambda tools, _: tools.peer("generated"),
    },
]


def meet(tools, policy, latency, records, drift=None, neighbour=False):
    """Lets every client read from a sandbox of its own, which is set the same way."""

    def trial(client):
        name, program = client
        out = tools.scratch / f"{abs(hash(name))}.jsonl"
        options = {"policy": policy, "latency_ms": latency, "drift": drift, "records": f"contacts={records}"}
        with Sandbox(tools, "--faults", "--rounding=up", **options) as sandbox:
            other = None
            if neighbour:
                command = [str(part) for part in tools.peer("neighbour")]
                pipe = subprocess.PIPE
                other = subprocess.Popen(command, env=sandbox.variables, stdin=pipe, stdout=pipe)
                time.sleep(2)
            try:
                command = program(tools, out)
                with open(os.devnull if out in command else out, "wb") as file:
                    usage = run(command, env=sandbox.variables, stdout=file)
            finally:
                said = other.communicate()[0] if other else b'{"requests": 1, "refused": 0}'
            others = json.loads(said)
            ids = Counter(json.loads(line)["id"] for line in out.open())
            # Ids are not foreseeable, but nothing can take their place.
            lost = records - len(ids)
            if drift:
                lost = sum(one not in ids for one in sandbox.get("/__drift?list=contacts")["stayed"])
            refused = sandbox.get("/__stats")["limited"] - others["refused"]
            times = sandbox.arrivals()
        out.unlink()
        seconds = times[-1] - times[0] + latency / 1000
        told = Trial(usage, ids.total(), lost, ids.total() - len(ids), len(times) - refused, refused, seconds)
        told.neighbour_served = 1 - others["refused"] / max(others["requests"], 1)
        print(policy, f"{latency} ms", name, percent(told.share), told, sep=", ", file=sys.stderr)
        return name, told

    return dict(one for group in GROUPS for one in at_once(trial, group.items()))


def budget(tools, size):
    records = 100 * size.pages
    latencies = [20, 100]
    rounds = {(latency, policy): meet(tools, policy, latency, records) for latency in latencies for policy in POLICIES}
    # Long enough to find out how much is left.
    beside = meet(tools, POLICIES[0], latencies[0], 3 * records, neighbour=True)
    # As many that come as go, at once and each time, look like records that move, which is not proven complete.
    changing = meet(tools, POLICIES[0], latencies[0], records, drift="every=5,inserts=2,deletes=1")
    names = list(beside)
    text = (
        f"{records:,} contacts, read from a cold start and written as JSON Lines; resets are rounded up. The share is that of "
        "the requests the service answered with 200, the one for a token included, per second from the first request to the "
        "last response, in the limit of 40 per second.\n"
    )
    for latency in latencies:
        of = lambda name: [rounds[latency, policy][name] for policy in POLICIES]
        rows = [[name, *(refusals(one.share, one.refused) for one in of(name))] for name in names]
        text += f"\n### Share of the limit, round trip {latency} ms\n\n{table(['Client', *POLICIES], rows)}"
    rows = []
    for name in names:
        trials = [one[name] for one in rounds.values()]
        sums = [sum(getattr(one, figure) for one in trials) for figure in ("refused", "lost", "repeated")]
        cpu = median(one.usage.cpu * 100_000 / max(one.records, 1) for one in trials)
        rows.append([name, *sums, f"{cpu:.2f}", f"{median(one.usage.peak for one in trials):.0f} MiB"])
    titles = ["Client", "429s", "Lost", "Repeated", "CPU seconds per 100,000 records, median", "Peak memory, median"]
    text += f"\n### Costs, over all of these runs\n\n{table(titles, rows)}"
    setting = f"{POLICIES[0]}, {latencies[0]} ms"
    rows = [
        [
            name,
            percent(one.served / one.seconds / (LIMIT - NEIGHBOUR)),
            f"{one.refused} ({percent(one.refused / (one.served + one.refused))})",
            percent(one.neighbour_served),
        ]
        for name, one in beside.items()
    ]
    title = f"Beside a neighbour that spends a steady {NEIGHBOUR} per second ({setting}, three times as many contacts)"
    text += f"\n### {title}\n\n{table(['Client', 'Share of what is left', 'Its 429s', 'Neighbour served'], rows)}"
    rows = [[name, one.lost, one.repeated, percent(one.share)] for name, one in changing.items()]
    title = f"While the list changes: after every fifth page two records come and one goes ({setting})"
    return text + f"\n### {title}\n\n{table(['Client', 'Lost', 'Repeated', 'Share of the limit'], rows)}"


# The budget shared by ten processes that begin together: how much of it they use, and how evenly.


def shared(tools, size):
    processes, latency, pages = 10, 20, size.pages // 8

    def ours(number):
        ways = [[tools.talentdata, "export", "contacts", "--out", "-"], [tools.c_scan], tools.python("read.py", "records")]
        return ways[number % len(ways)]

    def trial(name, program, store, policy):
        options = {"policy": policy, "latency_ms": latency, "records": f"contacts={100 * pages}"}
        with Sandbox(tools, "--faults", "--rounding=up", **options) as sandbox:
            variables = {**sandbox.variables, "TALENTDATA_BUDGET": store}
            read = lambda number: run(program(number), env=variables, stdout=subprocess.DEVNULL)
            done = at_once(read, range(processes))
            refused = sandbox.get("/__stats")["limited"]
            times = sandbox.arrivals()
        paces = [1 / one.wall for one in done]
        mean = sum(paces) / len(paces)
        share = (len(times) - refused) / (times[-1] - times[0] + latency / 1000) / LIMIT
        told = refusals(share, refused), f"{min(paces) / mean:.2f} to {max(paces) / mean:.2f}"
        print(policy, name, *told, sep=", ", file=sys.stderr)
        return *told, median(one.cpu for one in done)

    with Valkey(tools.valkey) as server:
        ways = [
            ("talentdata, budget = host", ours, "host"),
            ("talentdata, budget on Valkey", ours, server.url),
            ("talentdata, budget = process", ours, "process"),
            ("serial by the documented rule, httpx", lambda _: tools.peer("serial"), ""),
            ("asyncio, each with a limiter of 4/s, aiohttp", lambda _: tools.peer("limited", 4), ""),
        ]
        told = {way[0]: [trial(*way, policy) for policy in POLICIES] for way in ways}
    figures = lambda place: [[name, *(one[place] for one in trials)] for name, trials in told.items()]
    costs = [[name, f"{median(one[2] for one in trials):.2f}"] for name, trials in told.items()]
    return (
        f"{processes} processes that begin together, each of which reads {pages} full pages of contacts (ours: command line, C "
        f"and Python in turn); round trip {latency} ms, resets are rounded up.\n"
        f"\n### Share of the limit, all together\n\n{table(['Way', *POLICIES], figures(0))}"
        f"\n### The pace of the slowest and of the fastest, in parts of the mean\n\n{table(['Way', *POLICIES], figures(1))}"
        f"\n### Costs\n\n{table(['Way', 'CPU seconds per process, median'], costs)}"
    )


# Without a rate limit: what reading costs in each form. A way is a program, and whether it prints how many records it had.


def take_turns(tools, size, ways, records, *options):
    """What each way uses in each round, from a service that counts nothing."""
    out, said = tools.scratch / "records", tools.scratch / "said"
    rounds = []
    with Sandbox(tools, *options, policy="unlimited", records=f"contacts={records}") as sandbox:
        for number in range(size.rounds):
            rounds.append({})
            for name, (program, counts) in ways.items():
                variables = {**sandbox.variables, "TALENTDATA_PACED": "false"}
                with said.open("wb") as file:
                    usage = run(program(records, out), env=variables, stdout=file)
                if counts and said.read_text().strip() != str(records):
                    raise Failure(f"{name} had {said.read_text()} records, not {records}")
                out.unlink(missing_ok=True)
                print(f"{records} records, round {number + 1}, {name}: {usage}", file=sys.stderr)
                rounds[-1][name] = usage
    return rounds


def costs(rounds, name, records):
    walls, cpus = ([getattr(one[name], figure) for one in rounds] for figure in ("wall", "cpu"))
    return [name, f"{records / median(walls):,.0f}", f"{median(cpus) * 1e6 / records:.2f}"]


def peak(rounds, name):
    return median(one[name].peak for one in rounds)


def throughput(tools, size):
    export = lambda form: (lambda _, out: tools.export(form, out), False)
    floor = "floor: read and discard the same bytes"
    ways = {
        floor: (lambda records, _: [tools.floor, records], False),
        "the same, and write them to a file": (lambda records, out: [tools.floor, records, out], False),
        "scan from Rust, raw records": (lambda *_: [tools.scan, "records"], True),
        "scan from C, raw records": (lambda *_: [tools.c_scan], True),
        "scan from Rust, Arrow batches": (lambda *_: [tools.scan, "batches"], True),
        "command line, JSON Lines to /dev/null": (lambda *_: tools.export("jsonl", "/dev/null"), False),
        "command line, JSON Lines": export("jsonl"),
        "command line, CSV": export("csv"),
        "command line, Arrow IPC": export("arrow"),
        "command line, Parquet": export("parquet"),
    }
    few_records, records = 10_000, size.records
    few = take_turns(tools, size, ways, few_records)
    many = take_turns(tools, size, ways, records)
    compressed = take_turns(tools, size, ways, records, "--gzip")
    row = lambda rounds, name: [*costs(rounds, name, records), spread(one[floor].cpu / one[name].cpu for one in rounds)]
    titles = ["Way", "Records per second", "CPU µs per record", "Floor's CPU / its CPU (least to most)"]
    rows = []
    for name in ways:
        least, most = peak(few, name), peak(many, name)
        rows.append([*row(many, name), f"{least:.1f} MiB", f"{most:.1f} MiB", f"{most / least:.2f}"])
    memory = [f"Peak memory at {few_records:,}", f"at {records:,}", "Growth"]
    return (
        f"{records:,} contacts from a service that counts nothing, as fast as they come; medians of {size.rounds} rounds, in each "
        "of which every way had its turn. The floor fetches the same pages with the same HTTP library and as many requests at "
        f"once. Memory is of the client alone; processor time, too.\n\n{table(titles + memory, rows)}"
        "\n### The same from a service that compresses its answers\n\nWith gzip, which this client and the floor ask for; "
        f"reading the bytes means to decompress them, too.\n\n{table(titles, [row(compressed, name) for name in ways])}"
    )


# From Python: what reading costs beside the command line and beside an ordinary loop.


def python(tools, size):
    read = lambda way: (lambda _, out: tools.python("read.py", way, out), True)
    ours, peer = "command line, Arrow IPC", "httpx and pydantic, one request after another"
    ways = {
        ours: (lambda _, out: tools.export("arrow", out), False),
        "`to_arrow()`": read("arrow"),
        "the scan as a stream of record batches": read("batches"),
        "`export(path)`": read("parquet"),
        "records as Python objects": read("records"),
        peer: (lambda *_: tools.peer("modelled"), True),
    }
    rounds = take_turns(tools, size, ways, size.records)
    titles = [
        "Way",
        "Records per second",
        "CPU µs per record",
        "Its CPU / the command line's (least to most)",
        "The peer's CPU / its CPU (least to most)",
        "Peak memory",
    ]
    rows = [
        [
            *costs(rounds, name, size.records),
            spread(one[name].cpu / one[ours].cpu for one in rounds),
            spread(one[peer].cpu / one[name].cpu for one in rounds),
            f"{peak(rounds, name):.0f} MiB",
        ]
        for name in ways
    ]
    return (
        f"{size.records:,} contacts from a service that counts nothing, by the wheel as `cargo build --release` makes it; medians "
        f"of {size.rounds} rounds, in each of which every way had its turn. Processor time and memory are those of the whole "
        f"process, the start of the interpreter and its imports included.\n\n{table(titles, rows)}"
    )


# Deletes that are reported of a list that changes while it is read, compared with what has really happened.

#: The exit code of a sync whose scan is not proven complete; it is committed, too, and deletes nothing.
NOT_PROVEN = 31
DRIFTS = {
    "two come and one goes after every fifth page": "every=5,inserts=2,deletes=1",
    "one goes after every fifth page": "every=5,deletes=1",
    "five of a piece go after every twentieth page, and three come": "every=20,inserts=3,bulk-deletes=5",
}


def deletes_by_sync(tools, variables, kept, number):
    mirror = kept / "mirror.db"
    sync = [tools.talentdata, "sync", "contacts", "--to", mirror, "--paced", "false"]
    used = run(sync, codes=(0, NOT_PROVEN), env=variables, stdout=subprocess.DEVNULL)
    changes = [tools.talentdata, "changes", "contacts", "--from", mirror, "--since", number, "--format", "jsonl"]
    with (kept / "said").open("w+") as said:
        run(changes, env=variables, stdout=said)
        said.seek(0)
        read = [json.loads(line) for line in said]
    return [one["key"] for one in read if one["op"] == "delete"], used.cpu


def deletes_by_difference(tools, variables, kept, _):
    with (kept / "said").open("w+") as said:
        used = run(tools.peer("difference", kept / "ids"), env=variables, stdout=said)
        said.seek(0)
        return [json.loads(line) for line in said], used.cpu


def follow(tools, way, records, syncs, drift):
    """Syncs so many times; the row of what was reported."""
    options = {"policy": "unlimited", "records": f"contacts={records}", "drift": drift}
    gone, before, known, told, wrong, cpu = set(), set(), set(), 0, 0, []
    with Sandbox(tools, "--faults", **options) as sandbox, tempfile.TemporaryDirectory(dir=tools.scratch) as kept:

        def logged(operation):
            changes = sandbox.get("/__changes?list=contacts")["changes"]
            return {one["key"] for one in changes if one["op"] == operation}

        for number in range(syncs):
            before = gone
            deletes, seconds = way(tools, sandbox.variables, pathlib.Path(kept), number)
            cpu.append(seconds)
            gone = logged("delete")
            told += len(deletes)
            wrong += sum(one not in gone for one in deletes)
            known |= gone & set(deletes)
            # What was gone before it was ever seen cannot be reported.
            known |= gone if number == 0 else set()
        unreported = len(before - known - logged("insert"))
    return [len(gone), told, wrong, unreported, f"{median(cpu):.2f}"]


def upkeep(tools, records):
    """What the steps of a mirror's life use; a hundredth of the list has changed before the last sync."""
    options, rows = {"policy": "unlimited", "records": f"contacts={records}"}, []
    with Sandbox(tools, "--faults", **options) as sandbox, tempfile.TemporaryDirectory(dir=tools.scratch) as kept:
        mirror = pathlib.Path(kept, "mirror.db")
        sync = [tools.talentdata, "sync", "contacts", "--to", mirror, "--paced", "false"]
        of_mirror = ["contacts", "--from", mirror, "--format", "jsonl"]
        steps = {
            "export to Parquet": tools.export("parquet", pathlib.Path(kept, "contacts.parquet")),
            "first sync": sync,
            "sync without changes": sync,
            "sync of 1 % of changes": sync,
            "changes of the last sync": [tools.talentdata, "changes", *of_mirror, "--since", 2],
            "export of the first sync": [tools.talentdata, "export", *of_mirror, "--as-of", 1, "--out", os.devnull],
            "verify": [tools.talentdata, "verify", mirror],
        }
        for name, command in steps.items():
            for change in ("update", "insert", "delete_first") if "1 %" in name else ():
                sandbox.get("/__drift?list=contacts", {change: records // 300})
            used = run(command, env=sandbox.variables, stdout=subprocess.DEVNULL)
            print(name, used, sep=", ", file=sys.stderr)
            rows.append([name, f"{used.cpu:.1f}", f"{used.wall:.1f}", f"{used.peak:.0f} MiB"])
    return rows


def syncs(tools, size):
    records, count = size.records // 200, 4 * size.rounds
    ways = {"talentdata, `sync`": deletes_by_sync, "offset paging and a set difference, httpx": deletes_by_difference}
    titles = ["Way", "Deletes that happened", "Told", "Told falsely", "Untold", "CPU seconds per sync, median"]
    text = (
        f"{records:,} contacts that change while they are read, from a service that counts nothing; {count} syncs one after the "
        "other, of which the first has nothing to compare with. What is told is compared with the log of the sandbox: a delete is "
        "false if its record was not deleted by the end of the sync that tells it, and untold if it is of a record that was there "
        "from the beginning, happened before the last sync began, and none has told it.\n"
    )
    for title, drift in DRIFTS.items():
        rows = [[name, *follow(tools, way, records, count, drift)] for name, way in ways.items()]
        print(drift, rows, file=sys.stderr)
        text += f"\n### While {title}\n\n{table(titles, rows)}"
    titles = ["Step, each a process of its own", "CPU seconds", "Seconds", "Peak memory"]
    return text + f"\n### What a mirror of {size.records:,} contacts costs\n\n{table(titles, upkeep(tools, size.records))}"


SECTIONS = {
    "budget": ("Within the rate limit", budget),
    "shared": ("The budget shared", shared),
    "throughput": ("Without a rate limit", throughput),
    "syncs": ("Deletes", syncs),
    "python": ("From Python", python),
}

HEAD = """`cargo xtask bench` makes these tables; the figures are from one machine with {cores} cores, and other work on it; each section \
is of one run.

Service and clients run side by side on that machine. The service is the sandbox: `talentdata sandbox` with the policy that a \
column or a title names.
"""


def main():
    arguments = sys.argv[1:]
    quick = "--quick" in arguments
    only = [one for one in arguments if one != "--quick"]
    if only and (only[1:] or only[0] not in SECTIONS):
        sys.exit(f"give one section of the bench at most; they are {', '.join(SECTIONS)}")
    size = Size(120, 100_000, 3) if quick else Size(400, 1_000_000, 5)
    present = RESULTS.read_text() if only else ""
    head, *sections = present.split("\n## ")
    kept = {one.partition("\n")[0]: one for one in sections}
    tools = Tools()
    text = head or HEAD.format(cores=os.cpu_count())
    for name, (title, measure) in SECTIONS.items():
        if only in ([], [name]):
            kept[title] = f"{title}\n\n{measure(tools, size)}"
            print(f"\n## {kept[title]}")
        text += f"\n## {kept[title]}" if title in kept else ""
    if not quick:
        RESULTS.write_text(text)


try:
    main()
except Failure as error:
    sys.exit(str(error))
