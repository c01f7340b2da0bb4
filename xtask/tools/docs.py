"""`cargo xtask docs`: the manual as a site with a search, made by mkdocs-material into target/docs."""

import json
import os
import shutil

from commands import ROOT, environment, succeed, target, tool, within

#: The pages that stand in a place of their own, by task; all others of `docs` follow the first.
FIRST = {
    "Start here": "README.md",
    "C and C++": "bindings/c/README.md",
    "Python": "bindings/python/README.md",
    "Try it without an account": "crates/sandbox/README.md",
}
LAST = {
    "When the interface changes": "docs/regenerate.md",
    "Measurements": "tests/bench/RESULTS.md",
    "How it is built": "ARCHITECTURE.md",
    "Changes": "CHANGELOG.md",
}


def main():
    programs = environment(target() / "docs-venv", ROOT / "docs/requirements.txt")
    pages, site, file = target() / "docs-pages", target() / "docs", target() / "docs.yml"
    shutil.rmtree(pages, ignore_errors=True)
    own = [*FIRST.values(), *LAST.values()]
    manual = sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))
    manual = [page for page in manual if page not in own]
    # Paths stay as they are in the repository, so that links between pages lead where they led.
    for page in own + manual:
        (pages / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / page, pages / page)
    named = [[{title: page} for title, page in some.items()] for some in (FIRST, LAST)]
    settings = {
        "site_name": "talentdata",
        "docs_dir": str(pages),
        "site_dir": str(site),
        "nav": [*named[0], {"Manual": manual}, *named[1]],
        "use_directory_urls": False,
        "plugins": ["search"],
        "theme": {"name": "material", "font": False, "features": ["content.code.copy", "navigation.top"]},
        "markdown_extensions": ["tables", "toc", "pymdownx.superfences"],
    }
    # JSON is YAML.
    file.write_text(json.dumps(settings))
    variables = {**within(programs), "NO_MKDOCS_2_WARNING": "1"}
    succeed(programs / "mkdocs", "build", "--quiet", "--clean", "--config-file", file, env=variables)
    print(os.path.join(site, "index.html"))


tool(main)
