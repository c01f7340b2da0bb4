"""The pictures of measurements in the documents. `cargo xtask docs` draws them, and a test compares them."""

import re
from html import escape

from commands import ROOT

#: The rows of RESULTS.md in the chart of the limit, and their names in the chart.
CLIENTS = {
    "talentdata, command line": "talentdata",
    "serial by the documented rule, httpx": "serial loop (httpx)",
    "asyncio with a limiter of 40/s, aiohttp": "asyncio with a limiter",
    "openapi-python-client, serial": "generated client",
}
COLOURS = ["#0f766e", "#94a3b8", "#d97706", "#8b5cf6"]
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2937; } .small { font-size: 11px; fill: #4b5563; } .head { font-size: 15px; font-weight: 600; }
.grid { stroke: #d1d5db; } .refused { fill: #b91c1c; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  text { fill: #e5e7eb; } .small { fill: #9ca3af; } .grid { stroke: #4b5563; } .refused { fill: #f87171; }
}
"""


def sentence(figures):
    """Returns a sentence that describes the bars."""
    parts = []
    for row, name in CLIENTS.items():
        shares = sorted(round(float(cell.split(" ")[0])) for cell in figures[row])
        refused = sum(int(count) for cell in figures[row] for count in re.findall(r"(\d+) × 429", cell))
        parts.append(f"{name} {shares[0]} to {shares[-1]} % with {f'{refused} times' if refused else 'no'} 429")
    return f"Share of the limit: {', '.join(parts)}"


def limit():
    """Draws the share of the limit at 20 ms as bars, by kind of limiter, with the number of 429s above each bar."""
    results = (ROOT / "tests/bench/RESULTS.md").read_text(encoding="utf-8")
    table = results.split("### Share of the limit, round trip 20 ms")[1].split("###")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    kinds = [kind.replace("-", " ") + "s" for kind in rows[0][1:]]
    figures = {row[0]: row[1:] for row in rows[2:]}
    width, height, top, left, group = 860, 340, 76, 44, 160
    claim = sentence(figures)
    base = height - 46
    scale = (base - top) / 120
    out = [f'<text class="head" x="{left}" y="24">Share of the limit of 40 requests a second, from a cold start</text>']
    for percent in (0, 50, 100):
        y = base - percent * scale
        out += [f'<line class="grid" x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}"/>']
        out += [f'<text class="small" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>']
    for place, (row, name) in enumerate(CLIENTS.items()):
        x = left + place * 200
        out += [
            f'<rect x="{x}" y="38" width="11" height="11" fill="{COLOURS[place]}"/><text x="{x + 17}" y="48">{escape(name)}</text>'
        ]
        for kind, cell in enumerate(figures[row]):
            share = float(cell.split(" ")[0])
            refused = re.search(r"(\d+) × 429", cell)
            x = left + 14 + kind * group + place * 34
            tall = share * scale
            out += [f'<rect x="{x}" y="{base - tall:.1f}" width="28" height="{tall:.1f}" fill="{COLOURS[place]}"/>']
            label = f"{share:.0f}"
            out += [f'<text class="small" x="{x + 14}" y="{base - tall - 4:.1f}" text-anchor="middle">{label}</text>']
            if refused:
                count = refused[1]
                out += [
                    f'<text class="small refused" x="{x + 14}" y="{base - tall - 17:.1f}" text-anchor="middle">{count} × 429</text>'
                ]
    for kind, name in enumerate(kinds):
        out += [f'<text x="{left + 14 + kind * group + 65}" y="{base + 18}" text-anchor="middle">{escape(name)}</text>']
    out += [
        f'<text class="small" x="{left}" y="{height - 8}">Services count in five ways. Round trip 20 ms; figures from tests/bench/RESULTS.md.</text>'
    ]
    about = f"<title>{escape(claim)}</title><style>{STYLE}</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">{about}\n'
        + "\n".join(out)
        + "\n</svg>\n"
    )


#: The functions that draw the pictures, by path.
PICTURES = {"docs/pictures/limit.svg": limit}


def draw():
    for path, picture in PICTURES.items():
        (ROOT / path).write_text(picture(), encoding="utf-8")


def outdated():
    """Returns the pictures whose files differ from a new drawing."""
    return [path for path, picture in PICTURES.items() if (ROOT / path).read_text(encoding="utf-8") != picture()]
