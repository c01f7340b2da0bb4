"""Writes a function that calls every exported function with each of its pointers as NULL: exports.py OUTPUT FUNCTION HEADER...

The headers are those of one library. The description of each exported function must state facts that its signature
does not show: threads, errors, ownership and parameters. If it does not, the build of the tests ends.
"""

import re
import sys
from pathlib import Path

FUNCTION = re.compile(
    r"/\*\*(?P<doc>(?:(?!\*/).)*)\*/\s*(?P<must_use>TALENTDATA_NODISCARD\s+)?"
    r"(?P<result>[\w ]+?\s\**)(?P<name>talentdata_\w+)\((?P<parameters>[^;{}]*)\);",
    re.S,
)
VALUES = {
    "talentdata_text": 'fixture_text("{name}")',
    "talentdata_log_callback": "fixture_log",
    "talentdata_secret_callback": "fixture_secret",
    "talentdata_log_level": "TALENTDATA_LOG_LEVEL_INFO",
    "talentdata_release_callback": "NULL",
    "void *": "NULL",
}
NUMBERS = {
    "double",
    "int",
    "uint32_t",
    "uint64_t",
    "size_t",
    "talentdata_format",
    "talentdata_error_kind",
    "talentdata_log_level",
}


def argument(index, kind, name):
    """Returns a valid argument for a parameter."""
    if kind in VALUES:
        return VALUES[kind].format(name=name)
    if kind in NUMBERS:
        return "0"
    return f"fixture_slot({index})" if name.endswith("_out") else "all->" + re.search(r"talentdata_(\w+)", kind)[1]


def calls(function, parameters):
    """Yields the lines that call the function with NULL for each pointer whose description does not allow NULL."""
    name, doc = function["name"], function["doc"]
    can_fail = function["result"] == "talentdata_error *" and not name.endswith("_error")
    for null, (kind, one) in enumerate(parameters):
        said = re.split("@param|Ownership:|Threads:|Errors:", doc.partition(f"@param {one} ")[2])[0]
        allowed = ["NULL, or"] if one.endswith("_out") else ["or NULL", "absent", "may be NULL"]
        if kind in NUMBERS or any(words in said for words in allowed):
            continue
        arguments = [argument(index, *each) for index, each in enumerate(parameters)]
        arguments[null] = "(talentdata_text){NULL, 0}" if kind == "talentdata_text" else "NULL"
        call = f"{name}({', '.join(arguments)})"
        if can_fail:
            # The error must name the argument, and the slots must stay as they were.
            yield "fixture_poison();"
            yield f'fixture_is_null({call}, "{name}", "{one}");'
        else:
            yield f"(void)!{call};" if function["must_use"] else f"(void){call};"


def missing(function, parameters):
    """Returns the required parts that the description of a function lacks."""
    name, doc, result = function["name"], function["doc"], function["result"]
    can_fail = result == "talentdata_error *"
    lent = [kind for kind, one in parameters if one.endswith("_out")] + ([] if can_fail else [result])
    wanted = {"Threads:": True, "Errors:": can_fail and not name.endswith("_error")}
    wanted["Ownership:"] = name.endswith("_free") or any("**" in kind or "text" in kind for kind in lent)
    for _, one in parameters:
        wanted[f"@param {one} "] = can_fail and len(parameters) > 1
    return [words for words, needed in wanted.items() if needed and words not in doc]


def main(output, tested, *headers):
    lines, found = [], 0
    texts = [Path(path).read_text() for path in headers]
    exported = "".join(text for text in texts if "from crates/ffi-" in text.splitlines()[0])
    for function in FUNCTION.finditer(exported):
        written = "" if function["parameters"] == "void" else " ".join(function["parameters"].split())
        parameters = [re.fullmatch(r"(.*?) ?(\w+)", one).groups() for one in written.split(", ") if one]
        if missing(function, parameters):
            sys.exit(f"{function['name']} does not say {missing(function, parameters)}")
        lines += calls(function, parameters)
        found += 1
    if found < 8:
        sys.exit(f"{headers} have {found} functions")
    body = "".join(f"  {line}\n" for line in lines)
    includes = "".join(f'#include "{path}"\n' for path in ("fixture.h", *headers))
    Path(output).write_text(f"{includes}\nvoid {tested}(struct fixture *all) {{\n{body}}}\n")


main(*sys.argv[1:])
