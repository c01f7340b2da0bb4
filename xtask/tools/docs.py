"""`cargo xtask docs`: the manual as a site with a search, made by mkdocs-material into target/docs, as docs/mkdocs.yml says."""

import shutil
import sys

from commands import ROOT, environment, output, succeed, target, within


def main():
    programs = environment(target() / "docs-venv", ROOT / "docs/requirements.txt")
    pages, site = target() / "docs-pages", target() / "docs"
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir()
    # Paths stay as they are in the repository, so that links between pages lead where they led.
    files = output("git", "ls-files", "*.md", ":!tests/cases", ":!xtask", cwd=ROOT).splitlines()
    succeed("cp", "--parents", *files, pages, cwd=ROOT)
    build = [programs / "mkdocs", "build", "--quiet", "--clean", "--config-file", ROOT / "docs/mkdocs.yml"]
    variables = {**within(programs), "PAGES": str(pages), "NO_MKDOCS_2_WARNING": "1"}
    succeed(*build, "--site-dir", site, env=variables)
    print(site / "index.html")


main(*sys.argv[1:])
