"""`cargo xtask test docs`: everything that the documents mention exists. It needs neither a build nor a browser.

Code blocks are run by the tests of Python and C, which have what the blocks need.
"""

import html
import re

import pictures
from commands import ROOT, Failure, output

#: The pages for developers of talentdata, by the ends of their paths. All others are for users.
NOT_FOR_USERS = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
#: The widest line of code that a page of the site shows as a whole.
WIDEST = 88
#: Citations of a document that readers do not have.
ELSEWHERE = re.compile(r"service document|\bsections? \d", re.IGNORECASE)
#: References to pages of the repository, which an installed package does not contain.
PAGE = re.compile(r"\bdocs/[\w-]+\.(?:md|json)|README")
FENCE = re.compile(r"^ *```(\S*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def pages():
    """Returns the text of each page by its path."""
    files = output("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", cwd=ROOT).splitlines()
    paths = [path for path in files if not path.startswith(("tests/", "xtask/"))]
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}


def for_users(texts):
    return {
        path: text
        for path, text in texts.items()
        if path not in NOT_FOR_USERS and not path.startswith(("docs/design/", "docs/regenerate"))
    }


def prose(text):
    """Returns a page without its code blocks and comments."""
    return re.sub(r"<!--.*?-->", "", FENCE.sub("", text), flags=re.DOTALL)


def code(text):
    """Yields the lines of code blocks, without the output of programs."""
    for language, block in FENCE.findall(text):
        lines = block.splitlines()
        prompts = {"console": ("$ ",), "pycon": (">>> ", "... "), "text": ()}
        yield from [line for line in lines if language not in prompts or line.startswith(prompts[language])]
    yield from re.findall(r"^ {4}(\S.*)$", FENCE.sub("", text), flags=re.MULTILINE)


def sources(*patterns):
    """Returns the texts of source files by their paths."""
    return {path: path.read_text(encoding="utf-8") for pattern in patterns for path in ROOT.glob(pattern)}


def anchors(text):
    """Returns the anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(texts):
    """Links lead to existing files and headings, and the index of the manual links to each of its pages."""
    for path, text in texts.items():
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
            if link.startswith(("https://", "http://")):
                continue
            file, _, anchor = link.partition("#")
            target = ((ROOT / path).parent / file).resolve() if file else ROOT / path
            if not target.exists():
                yield f"{path}: {link} leads to nothing"
            elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
                yield f"{path}: {link} leads to no heading"
    index = texts["docs/README.md"]
    for path in texts:
        if path.startswith("docs/") and path != "docs/README.md" and path.removeprefix("docs/") not in index:
            yield f"docs/README.md does not lead to {path}"


def packages(texts):
    """The page of a package stands alone, because its index shows no other file."""
    path = (
        "bindings/python/"
        + re.search(r'^readme = "(.+)"', (ROOT / "bindings/python/pyproject.toml").read_text(), re.M)[1]
    )
    text = texts[path]
    if re.search(r"\]\((?!https?://)", text) or PAGE.search(text):
        yield f"{path} leads to a file that the package does not have"


def elsewhere(texts):
    """Neither pages nor installed files cite a document that their readers do not have."""
    installed = sources("bindings/c/include/**/*.h*", "bindings/python/talentdata/*.py*", "bindings/python/notebooks/*")
    installed = {str(path.relative_to(ROOT)): text for path, text in installed.items()}
    schema = "docs/results.schema.json"
    for path, text in {**texts, **installed, schema: (ROOT / schema).read_text(encoding="utf-8")}.items():
        # ARCHITECTURE.md is for developers who change the transcription of that document.
        if path != "ARCHITECTURE.md" and (cited := ELSEWHERE.search(text)):
            yield f"{path} cites {cited[0]}, which its reader does not have"
    messages = sources("crates/cli/src/**/*.rs", "crates/ffi-c/src/**/*.rs")
    strings = {
        str(path.relative_to(ROOT)): "\n".join(re.findall(r"^ *(?!//)[^/\n]*\.md.*$", text, re.MULTILINE))
        for path, text in messages.items()
    }
    for path, text in {**installed, **strings}.items():
        if cited := PAGE.search(text):
            yield f"{path} cites {cited[0]}, which is in no package"


def defines(path, text, owner, member):
    """Returns whether a source file defines a member of a type, a namespace or a module."""
    kind = r"\b(?:struct|enum|trait|class|namespace|impl(?:<.*?>)?)"
    if not re.search(rf"{kind} (?:\w+ for )?{owner}\b", text) and owner not in (path.stem, *path.parent.parts):
        return False
    item = rf"\b(?:fn|struct|enum|trait|class|type|mod|using) {member}\b|^\s*(?:pub )?{member}\b *[:,({{]"
    in_headers = rf"|\b{member}\(" if path.suffix == ".hpp" else ""
    return re.search(item + in_headers, text, flags=re.MULTILINE) is not None


def names(texts):
    """Names in pages exist in the sources: those of Rust and C++, those of C, and variables of the environment."""
    files = sources("crates/*/src/**/*.rs", "bindings/c/include/**/*.hpp")
    cmake = "\n".join(sources("bindings/c/prefix/**/*.in", "bindings/c/prefix/**/*.cmake").values())
    everything = sources(
        "bindings/c/include/**/*.h", "bindings/python/talentdata/*.py", "crates/*/src/**/*.rs", "crates/*/Cargo.toml"
    )
    known = set(re.findall(r"\w+", "\n".join(everything.values()).replace("-", "_")))
    # The variables of settings are formed from the names in the table.
    table = everything[ROOT / "crates/core/src/settings/table.rs"]
    known |= {f"TALENTDATA_{name.upper()}" for name in re.findall(r'(?:name:|&str =) "(\w+)"', table)}
    for path, text in texts.items():
        if path == "CHANGELOG.md":
            continue
        for span in re.findall(r"`([^`\n]+)`", prose(text)):
            for name in re.findall(r"\w+(?:::\w+)+(?:\.\w+)?", span):
                owner, member = name.partition(".")[0].split("::")[-2:]
                if (
                    owner != "std"
                    and name not in cmake
                    and not any(defines(*file, owner, member) for file in files.items())
                ):
                    yield f"{path}: {name} does not exist"
        for name in sorted(set(re.findall(r"\b(?:talentdata|TALENTDATA)_\w+", text)) - known):
            # Packages are named after a version.
            if not re.match(r"talentdata_\d", name):
                yield f"{path}: {name} does not exist"


def flags(texts):
    """Flags of the command line in pages exist: as an argument, a setting or an option."""
    command_line = "\n".join(
        sources(
            "crates/cli/src/**/*.rs",
            "crates/core/src/settings/table.rs",
            "crates/mirror/src/job_options/table.rs",
            "crates/sandbox/src/options/*.rs",
            "crates/types/src/generated/*.rs",
        ).values()
    )
    known = {name.replace("_", "-") for name in re.findall(r"\w+", command_line.replace("-", "_"))}
    # The last one is a flag of valgrind.
    known |= {"help", "version", "hash-key-file", "suppressions"}
    for path, text in for_users(texts).items():
        spans = [*re.findall(r"`([^`\n]+)`", prose(text)), *code(text)]
        for line in spans:
            # Other programs have flags of their own.
            if re.match(r"\$? ?(talentdata|--)", line):
                for flag in re.findall(r"(?<!\S)--([a-z][a-z-]+)", line):
                    if flag not in known:
                        yield f"{path}: there is no flag --{flag}"


def settings(texts):
    """The page of settings has the note of each setting, and defaults in pages are those of the table."""
    table = (ROOT / "crates/core/src/settings/table.rs").read_text(encoding="utf-8")
    notes = re.findall(r'note: "((?:[^"\\]|\\.)+)"', table)
    page = texts["docs/settings.md"]
    for note in notes:
        if note.replace('\\"', '"') not in page:
            yield f"docs/settings.md lacks a note: {note}"
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    defaults = {row[1].strip(" `"): row[-2].strip(" `") for row in rows if len(row) == 8}
    for path, text in for_users(texts).items():
        for name, value in re.findall(r"`(\w+)`, (\d+(?: s)?) \|", text):
            if name in defaults and defaults[name] != value:
                yield f"{path}: {name} is {defaults[name]} by default, not {value}"


def quotes(texts):
    """The messages on the page for troubleshooting are in the sources."""
    path = "docs/troubleshooting.md"
    everything = "\n".join(sources("crates/*/src/**/*.rs", "bindings/python/talentdata/*.py").values())
    everything = re.sub(r"\\?\n\s*(?://[/!]? ?)?", " ", everything).replace("  ", " ")
    for row in re.findall(r"^\| ([^|]+) \|", texts[path], re.MULTILINE):
        for quoted in re.findall(r"`([^`]+ [^`]+)`", row):
            if not quoted.startswith(("ModuleNotFoundError", "error while loading")) and quoted not in everything:
                yield f"{path} quotes a message that does not exist: {quoted}"


def examples(texts):
    """Examples in files are shown unchanged, and the pages of C and C++ link to all of them."""
    for path, text in texts.items():
        for file, shown in re.findall(r"<!-- example (.+?) -->\n```\w+\n(.*?)```", text, re.DOTALL):
            if (ROOT / file).read_text(encoding="utf-8") != shown:
                yield f"{path}: the example is not {file}"
    linked = set(re.findall(r"\]\(examples/([^)]+)\)", texts["bindings/c/README.md"]))
    for file in sorted({path.name for path in (ROOT / "bindings/c/examples").glob("*.c*")} - linked):
        yield f"bindings/c/README.md does not lead to {file}"


def looks(texts):
    """Lines of code fit the column of the site, and sentences for users have no semicolon, apart from tables."""
    for path, text in for_users(texts).items():
        for line in code(text):
            if len(line) > WIDEST:
                yield f"{path}: this line of code has more than {WIDEST} characters: {line.strip()}"
        sentences = re.sub(r"^(?:\||    ).*$", "", re.sub(r"`[^`]*`", "", prose(text)), flags=re.MULTILINE)
        if ";" in sentences:
            at = sentences.index(";")
            yield f"{path}: a semicolon: {' '.join(sentences[max(0, at - 60) : at + 1].split())}"


def drawings(texts):
    """Pictures show the measurements, and pages describe the pictures correctly."""
    for path in pictures.outdated():
        yield f"{path} is not what `cargo xtask docs` draws"
    for path in pictures.PICTURES:
        title = html.unescape(re.search("<title>(.*?)</title>", (ROOT / path).read_text(encoding="utf-8"))[1])
        if f"![{title}]({path})" not in texts["README.md"]:
            yield f"README.md does not show {path} with the words: {title}"


CHECKS = [links, packages, elsewhere, names, flags, settings, quotes, examples, looks, drawings]


def main():
    texts = pages()
    found = [message for check in CHECKS for message in check(texts)]
    if found:
        raise Failure("\n  " + "\n  ".join(found))


if __name__ == "__main__":
    main()
