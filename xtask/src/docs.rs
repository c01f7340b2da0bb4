//! `cargo xtask docs`: the manual as a site with a search, made by mkdocs-material into target/docs.

use crate::Outcome;
use crate::environment::Environment;
use crate::test::succeed;
use serde_json::{Value, json};
use std::path::Path;

/// The packages of the generator, pinned.
const REQUIREMENTS: &str = "docs/requirements.txt";

/// The pages that stand in a place of their own, by task; all others of `docs` follow.
const PAGES: [(&str, &str); 8] = [
    ("Start here", "README.md"),
    ("C and C++", "bindings/c/README.md"),
    ("Python", "bindings/python/README.md"),
    ("Try it without an account", "crates/sandbox/README.md"),
    ("When the interface changes", "docs/regenerate.md"),
    ("Measurements", "tests/bench/RESULTS.md"),
    ("How it is built", "ARCHITECTURE.md"),
    ("Changes", "CHANGELOG.md"),
];

/// Builds the site of the pages that this directory has.
pub(crate) fn run(root: &Path) -> Outcome {
    let target = crate::cargo::target(root)?;
    let tools = Environment::with_requirements(root, REQUIREMENTS, &target.join("docs-venv"))?;
    let (pages, site) = (target.join("docs-pages"), target.join("docs"));
    let failed = |error: std::io::Error| format!("cannot gather the pages: {error}");
    let _ = std::fs::remove_dir_all(&pages);
    let mut manual: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(root.join("docs")).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        manual.extend(name.to_str().map(|name| format!("docs/{name}")));
    }
    manual.retain(|path| path.ends_with(".md") && PAGES.iter().all(|(_, page)| page != path));
    manual.sort();
    let named = |(title, page): &(&str, &str)| json!({ *title: *page });
    let (first, last) = PAGES.split_at(4);
    let nav: Vec<Value> = first.iter().map(named).collect();
    let manual_nav = json!({ "Manual": &manual });
    let nav = [nav, vec![manual_nav], last.iter().map(named).collect()].concat();
    let all = PAGES.iter().map(|(_, page)| *page);
    // Paths stay as they are in the repository, so that links between pages lead where they led.
    for page in all.chain(manual.iter().map(String::as_str)) {
        let copy = pages.join(page);
        std::fs::create_dir_all(copy.parent().unwrap_or(&pages)).map_err(failed)?;
        std::fs::copy(root.join(page), copy).map_err(|error| format!("{page}: {error}"))?;
    }
    // JSON is YAML.
    let settings = json!({
        "site_name": "talentdata", "docs_dir": pages, "site_dir": site, "nav": nav,
        "use_directory_urls": false, "plugins": ["search"],
        "theme": {"name": "material", "font": false, "features": ["content.code.copy", "navigation.top"]},
        "markdown_extensions": ["tables", "toc", "pymdownx.superfences"],
    });
    let file = target.join("docs.yml");
    std::fs::write(&file, settings.to_string()).map_err(failed)?;
    let mut build = tools.command("mkdocs");
    build.args(["build", "--quiet", "--clean", "--config-file"]);
    build.env("NO_MKDOCS_2_WARNING", "1");
    succeed(build.arg(&file))?;
    println!("{}", site.join("index.html").display());
    Ok(())
}
