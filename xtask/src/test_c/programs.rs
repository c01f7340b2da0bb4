//! The programs of the tests: examples with what they must print, and tests that judge themselves.

use crate::Outcome;
use serde_json::Value;

/// Contacts that the sandbox holds, more than a scan has under way at once.
pub(super) const CONTACTS: u64 = 3000;

/// An example in C and in C++, and whether what it printed is right.
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) check: fn(&str) -> Outcome,
}

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        name: "quickstart",
        check: a_line_per_contact,
    },
    Example {
        name: "contacts",
        check: a_line_per_contact,
    },
    Example {
        name: "columns",
        check: counts_by_domain,
    },
    Example {
        name: "schema",
        check: is_a_schema,
    },
    Example {
        name: "version",
        check: is_compatible,
    },
    Example {
        name: "poll",
        check: counts_all,
    },
    Example {
        name: "export",
        check: counts_all,
    },
];

/// A program whose exit code tells how it went.
pub(super) struct Test {
    pub(super) sources: &'static [&'static str],
    pub(super) standards: &'static [&'static str],
    pub(super) flags: &'static [&'static str],
}

pub(super) const TESTS: &[Test] = &[
    Test {
        sources: &["null_arguments.c", "fixture.c"],
        standards: &["c11"],
        flags: &[],
    },
    Test {
        sources: &["contract.c", "fixture.c"],
        standards: &["c11"],
        flags: &[],
    },
    Test {
        sources: &["fork.c", "fixture.c"],
        standards: &["c11"],
        flags: &[],
    },
    Test {
        sources: &["threads.c", "fixture.c"],
        standards: &["c11"],
        flags: &[],
    },
    Test {
        sources: &["log.c", "service.c", "fixture.c"],
        standards: &["c11"],
        flags: &[],
    },
    Test {
        sources: &["exporter.c", "service.c", "fixture.c"],
        standards: &["c11"],
        flags: &["-D_XOPEN_SOURCE=700"],
    },
    Test {
        sources: &["mirror.c", "fixture.c"],
        standards: &["c11"],
        flags: &["-D_XOPEN_SOURCE=700"],
    },
    Test {
        sources: &["own_names.c", "fixture.c"],
        standards: &["c11"],
        flags: &["-D_XOPEN_SOURCE=700"],
    },
    Test {
        sources: &["token_cache.c", "service.c", "fixture.c"],
        standards: &["c11"],
        flags: &["-D_XOPEN_SOURCE=700"],
    },
    Test {
        sources: &["values.c", "service.c", "fixture.c"],
        standards: &["c11"],
        flags: &[],
    },
    Test {
        sources: &["prepared.c", "service.c", "fixture.c"],
        standards: &["c11"],
        flags: &[],
    },
    Test {
        sources: &["nested.c", "service.c", "fixture.c"],
        standards: &["c11"],
        flags: &[],
    },
    Test {
        sources: &["nested.cpp"],
        standards: &["c++17"],
        flags: &[],
    },
    Test {
        sources: &["kept.c", "service.c", "fixture.c"],
        standards: &["c11"],
        flags: &[],
    },
    Test {
        sources: &["surface.cpp"],
        standards: &["c++17", "c++20"],
        flags: &[],
    },
    Test {
        sources: &["settings.cpp"],
        standards: &["c++17"],
        flags: &[],
    },
    Test {
        sources: &["no_exceptions.cpp"],
        standards: &["c++17"],
        flags: &["-fno-exceptions", "-fno-rtti"],
    },
];

fn a_line_per_contact(output: &str) -> Outcome {
    let lines = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .count() as u64;
    equal(lines, CONTACTS, "lines")
}

fn counts_all(output: &str) -> Outcome {
    let number = output
        .trim()
        .strip_suffix(" contacts")
        .and_then(|number| number.parse().ok());
    equal(number.unwrap_or_default(), CONTACTS, "contacts")
}

fn counts_by_domain(output: &str) -> Outcome {
    let counts = output
        .lines()
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    equal(counts.sum(), CONTACTS, "contacts in all domains")?;
    let odd = output.lines().find(|line| !line.starts_with("example."));
    odd.map_or(Ok(()), |line| {
        Err(format!(
            "a domain that the sandbox does not make up: {line}"
        ))
    })
}

fn is_a_schema(output: &str) -> Outcome {
    let schema: Value = serde_json::from_str(output).map_err(|error| error.to_string())?;
    match schema["resource"] == "contacts" && schema["fields"][0]["name"] == "id" {
        true => Ok(()),
        false => Err(format!("not a schema of contacts: {output}")),
    }
}

fn is_compatible(output: &str) -> Outcome {
    if output.contains("service: ") && output.trim().ends_with("compatible") {
        Ok(())
    } else {
        Err(format!("not what was expected: {output}"))
    }
}

fn equal(found: u64, wanted: u64, what: &str) -> Outcome {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{found} {what}, not {wanted}"))
    }
}
