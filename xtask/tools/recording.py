"""Records the terminal picture of the README: real programs against a sandbox, as an animated SVG.

`python3 -B xtask/tools/recording.py PROGRAMS` draws it. PROGRAMS is a directory with `talentdata` and a `python` that has
the package and pandas, such as `target/python/tests/bin` after `cargo xtask test python`.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from html import escape
from pathlib import Path

from commands import ROOT, Failure

#: The picture, and the size of the terminal in characters and pixels.
PICTURE = "docs/pictures/terminal.svg"
COLUMNS, WIDTH, HEIGHT, MARGIN = 100, 8.2, 19, 14
#: The records of the list in the sandbox, and the longest time until a text is on the screen, in seconds.
RECORDS, PATIENCE = 40_000, 60
#: The pictures per second, and the seconds for which the last one stays.
RATE, STAY = 6, 4
COLOURS = {"$": "#4ade80", ">>>": "#4ade80", "█": "#2dd4bf", "░": "#475569"}


class Pane:
    """A program in a terminal, and the rows that the terminal shows."""

    def __init__(self, rows, *command, **variables):
        self.rows, self.lines, self.row, self.column = rows, [""], 0, 0
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color", **variables})
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, COLUMNS, 0, 0))
        self.rest = b""

    def read(self):
        """Reads the output of the program so far."""
        while select.select([self.end], [], [], 0)[0]:
            self.rest += os.read(self.end, 65536)
        text = self.rest.decode(errors="ignore")
        self.rest = b""
        for part in re.findall(r"\x1b\[[?>]?[\d;]*[A-Za-z]|\x1b.|[^\x1b]", text, flags=re.DOTALL):
            self.take(part)

    def take(self, part):
        """Shows a character, or obeys an escape sequence. Only moving up and erasing to the end of a line are supported."""
        if part == "\r":
            self.column = 0
        elif part == "\n":
            self.row += 1
            self.lines += [""] * (self.row + 1 - len(self.lines))
        elif part == "\b":
            self.column -= 1
        elif part in ("\x1b[K", "\x1b[0K"):
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif part == "\x1b[2K":
            self.lines[self.row] = ""
        elif re.fullmatch(r"\x1b\[\d*A", part):
            self.row -= int(part[2:-1] or 1)
        elif part >= " ":
            # A terminal begins a row only when there is a character for it.
            if self.column == COLUMNS:
                self.take("\n")
                self.column = 0
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + part + line[self.column + 1 :]
            self.column += 1

    def shown(self):
        """Returns the rows that a terminal of this height shows."""
        return (self.lines[-self.rows :] + [""] * self.rows)[: self.rows]


class Film:
    """The pictures of all panes over time."""

    def __init__(self, panes):
        self.panes, self.frames, self.began = panes, [], time.monotonic()

    def roll(self, seconds=0.0, until=None):
        """Takes pictures for a time, or until a text is on one of the panes."""
        ends = time.monotonic() + (PATIENCE if until else seconds)
        while True:
            for pane in self.panes:
                pane.read()
            rows = [row.rstrip() for pane in self.panes for row in [*pane.shown(), ""]]
            if not self.frames or self.frames[-1][1] != rows:
                self.frames.append((time.monotonic() - self.began, rows))
            if until and any(re.search(until, row) for row in rows):
                return
            if time.monotonic() >= ends:
                if until:
                    raise Failure(f"the terminal does not show {until}:\n" + "\n".join(rows))
                return
            time.sleep(min(1 / RATE, seconds or 1))

    def type(self, pane, text):
        """Types a line."""
        for start in range(0, len(text), 4):
            os.write(pane.end, text[start : start + 4].encode())
            self.roll(0.05)
        os.write(pane.end, b"\n")


def record(programs):
    """Plays the scene, and returns its pictures."""
    with tempfile.TemporaryDirectory() as directory:
        command = [
            programs / "talentdata",
            "sandbox",
            "--records",
            f"contacts={RECORDS}",
            "--records",
            "vacancies=16000",
        ]
        sandbox = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            printed = json.loads(sandbox.stdout.readline())
            names = {f"TALENTDATA_{name.upper()}": value for name, value in printed.items()}
            os.chdir(directory)
            variables = {**names, "PATH": f"{programs}:{os.environ['PATH']}", "PS1": "$ "}
            top = Pane(10, "bash", "--norc", "--noprofile", "--noediting", **variables)
            code = "import pandas, pyarrow, talentdata; client = talentdata.Client()"
            middle = Pane(3, "python", "-q", "-i", "-c", code, **variables)
            below = Pane(6, "bash", "--norc", "--noprofile", "--noediting", **variables)
            film = Film([top, middle, below])
            film.roll(until=">>>")
            film.frames, film.began = [], time.monotonic()
            film.type(top, "talentdata export contacts --out contacts.jsonl")
            film.roll(until=r"█.* [6-9],\d\d\d of")
            film.type(middle, "vacancies = client.vacancies.list().to_pandas()")
            film.roll(until=r"vacancies: \[#")
            film.type(below, "talentdata budget")
            film.roll(until="PROGRAM")
            film.roll(1.5)
            os.write(top.end, b"\x03")
            film.roll(until="--resume")
            film.roll(1.5)
            film.type(top, "talentdata export contacts --out contacts.jsonl --resume")
            film.roll(until="completeness proven")
            film.roll(0.5)
            film.type(top, "echo $?")
            film.roll(1)
            return film.frames
        finally:
            sandbox.send_signal(signal.SIGTERM)
            sandbox.wait()


def line(text, y):
    """Draws a row of a terminal."""
    parts = re.split(r"(^\$|^>>>|█+|░+)", text)
    spans = [
        f'<tspan fill="{COLOURS.get(part, COLOURS.get(part[0]))}">{escape(part)}</tspan>'
        if part and (part in COLOURS or part[0] in "█░")
        else escape(part)
        for part in parts
    ]
    return f'<text y="{y}" textLength="{len(text) * WIDTH:.0f}">{"".join(spans)}</text>'


def draw(frames):
    """Returns the pictures as one animated SVG. For readers who prefer reduced motion, it shows only the last one."""
    rows = len(frames[0][1])
    tall, wide = rows * HEIGHT + 2 * MARGIN, COLUMNS * WIDTH + 2 * MARGIN
    lasts = frames[-1][0] + STAY
    drawn, defined = [], {}
    for number, (_, texts) in enumerate(frames):
        uses = []
        for row, text in enumerate(texts):
            if text:
                key = defined.setdefault(text, f"l{len(defined)}")
                uses.append(f'<use href="#{key}" y="{number * tall + row * HEIGHT}"/>')
        drawn.append("".join(uses))
    steps = [
        f"{100 * at / lasts:.2f}%{{transform:translateY({-number * tall}px)}}" for number, (at, _) in enumerate(frames)
    ]
    last = (len(frames) - 1) * tall
    style = f"""text{{font:13.5px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e2e8f0;white-space:pre}}
#film{{transform:translateY({-last}px);animation:play {lasts:.1f}s step-end infinite}}
@keyframes play{{{"".join(steps)}100%{{transform:translateY({-last}px)}}}}
@media (prefers-reduced-motion: reduce){{#film{{animation:none}}}}"""
    lines = "\n".join(line(text, HEIGHT - 5).replace("<text", f'<text id="{key}"', 1) for text, key in defined.items())
    about = "talentdata exports a list, shares the request budget with Python, is interrupted, and resumes"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {tall}" role="img"><title>{about}</title>'
        f"<style>{style}</style><defs>{lines}</defs>\n"
        f'<rect width="{wide:.0f}" height="{tall}" rx="8" fill="#0f172a"/>\n'
        f'<svg x="{MARGIN}" y="{MARGIN}" width="{COLUMNS * WIDTH:.0f}" height="{rows * HEIGHT}"><g id="film">\n'
        + "\n".join(drawn)
        + "\n</g></svg></svg>\n"
    )


if __name__ == "__main__":
    programs = Path(sys.argv[1]).absolute()
    (ROOT / PICTURE).write_text(draw(record(programs)), encoding="utf-8")
