"""`cargo xtask docs`: builds the manual as a site with a search in target/docs, with mkdocs-material and docs/mkdocs.yml.

The search does not work on pages that are opened as files, so the command that serves them is printed.
"""

import re
import shutil
import sys

import pictures
from commands import ROOT, environment, output, succeed, target, within

#: Pages that are not part of the manual. The last one is for the index of Python packages.
OTHERS = (":!tests/cases", ":!xtask", ":!bindings/python/PACKAGE.md")


def main():
    pictures.draw()
    programs = environment(target() / "docs-venv", ROOT / "docs/requirements.txt")
    pages, site = target() / "docs-pages", target() / "docs"
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir()
    # The pages keep their paths in the repository, so that links between them stay valid.
    files = output("git", "ls-files", "*.md", *OTHERS, cwd=ROOT).splitlines()
    succeed("cp", "--parents", *files, *sorted(set(linked(files))), "docs/site.css", pages, cwd=ROOT)
    # With --quiet, warnings would no longer fail the build.
    build = [programs / "mkdocs", "build", "--clean", "--config-file", ROOT / "docs/mkdocs.yml"]
    variables = {**within(programs), "PAGES": str(pages), "NO_MKDOCS_2_WARNING": "1"}
    succeed(*build, "--site-dir", site, env=variables)
    print(
        f"To read it: python3 -m http.server --directory {site} --bind 127.0.0.1 8000, and open http://127.0.0.1:8000"
    )


def linked(files):
    """Yields the files that pages link to, other than pages, relative to the root of the repository."""
    for file in files:
        for link in re.findall(r"\]\(([^)\s#]+)", (ROOT / file).read_text(encoding="utf-8")):
            path = (ROOT / file).parent / link
            if ":" not in link and path.is_file() and path.suffix != ".md":
                yield path.resolve().relative_to(ROOT)


main(*sys.argv[1:])
