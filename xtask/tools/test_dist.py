"""The part `notices` of the tests: the notices and the bill of materials of what is handed out.

It uses the libraries and the program that the part `rust` has compiled.
"""

import notices
from commands import build
from test_c import BUILD


def run_notices():
    made = build(*BUILD)
    for package, file in notices.ARTEFACTS.items():
        notices.check(package, made[file].read_bytes())
