//! `cargo xtask bench`: this client beside others, on the sandbox; the tables go to tests/bench/RESULTS.md.
//!
//! A section can be measured alone: it replaces its own tables, and those of the others stay.

mod budget;
pub(crate) mod child;
mod figures;
mod hosts;
mod python;
mod rounds;
mod shared;
mod starts;
mod syncs;
mod table;
mod throughput;
mod tools;
mod trial;

use crate::Outcome;
use std::path::Path;
use tools::Tools;

/// Where the tables are written.
const RESULTS: &str = "tests/bench/RESULTS.md";

/// How much is measured.
struct Size {
    /// Full pages of the list that is read within the budget.
    pages: u64,
    /// Records of the list that is read without one.
    records: u64,
    /// How often each way of reading that is measured.
    rounds: usize,
}

/// A part of the tables.
struct Section {
    /// The name that measures it alone.
    name: &'static str,
    /// What stands above its tables.
    title: &'static str,
    /// Measures, and tells it as Markdown.
    measure: fn(&Tools, &Size) -> Result<String, String>,
}

/// All sections, in the order of the file.
const SECTIONS: [Section; 5] = [
    Section {
        name: "budget",
        title: "## Within the rate limit\n",
        measure: budget::measure,
    },
    Section {
        name: "shared",
        title: "## The budget shared\n",
        measure: shared::measure,
    },
    Section {
        name: "throughput",
        title: "## Without a rate limit\n",
        measure: throughput::measure,
    },
    Section {
        name: "syncs",
        title: "## Deletes\n",
        measure: syncs::measure,
    },
    Section {
        name: "python",
        title: "## From Python\n",
        measure: python::measure,
    },
];

/// Measures everything, or the section named. A quick run prints its tables, and leaves the file alone.
pub(crate) fn run(root: &Path, only: Option<&str>, quick: bool) -> Outcome {
    let size = match quick {
        true => Size {
            pages: 120,
            records: 100_000,
            rounds: 3,
        },
        false => Size {
            pages: 400,
            records: 1_000_000,
            rounds: 5,
        },
    };
    if only.is_some_and(|only| SECTIONS.iter().all(|section| section.name != only)) {
        let names = SECTIONS.map(|section| section.name).join(", ");
        return Err(format!("no such section of the bench; they are {names}"));
    }
    let present = match only {
        Some(_) => std::fs::read_to_string(root.join(RESULTS))
            .map_err(|error| format!("cannot read {RESULTS}: {error}"))?,
        None => String::new(),
    };
    let tools = Tools::make(root)?;
    let mut text = match present.find("\n## ") {
        Some(end) => present[..end].to_owned(),
        None => head(quick)?,
    };
    for section in SECTIONS {
        if only.is_none_or(|only| only == section.name) {
            let tables = (section.measure)(&tools, &size)?;
            println!("\n{}\n{tables}", section.title);
            text += &format!("\n{}\n{tables}", section.title);
        } else {
            text += kept(&present, section.title);
        }
    }
    if quick {
        return Ok(());
    }
    std::fs::write(root.join(RESULTS), text)
        .map_err(|error| format!("cannot write {RESULTS}: {error}"))
}

/// A section as it stands in the file, with the empty line before it; nothing where it is not there.
fn kept<'a>(present: &'a str, title: &str) -> &'a str {
    let start = present.find(&format!("\n{title}"));
    let found = start.map_or("", |start| &present[start..]);
    let end = found.find("\n\n## ").map(|end| end + 1);
    &found[..end.unwrap_or(found.len())]
}

fn head(quick: bool) -> Result<String, String> {
    let cores = std::thread::available_parallelism()
        .map_err(|error| format!("cannot count the cores: {error}"))?;
    let flag = if quick { " --quick" } else { "" };
    Ok(format!(
        "`cargo xtask bench{flag}` makes these tables; the figures are from one machine with {cores} cores, and other \
         work on it; each section is of one run.\n\n\
         Service and clients run side by side on that machine. The service is the sandbox: `talentdata sandbox` with \
         the policy that a column or a title names.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn sections_stay_as_they_are() {
        let present = "head\n\n## A\n\na\n\n### sub\n\n1\n\n## B\n\nb\n";
        assert_eq!(kept(present, "## A\n"), "\n## A\n\na\n\n### sub\n\n1\n");
        assert_eq!(kept(present, "## B\n"), "\n## B\n\nb\n");
        assert_eq!(kept(present, "## C\n"), "");
    }
}
