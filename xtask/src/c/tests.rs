//! The documentation of exported functions says what a caller in C cannot see.

use super::{Function, library};

/// What is missing in the documentation of a function.
fn missing(function: &Function) -> Vec<String> {
    let can_fail = function.result == "Option<Box<Error>>";
    let owner = |of: &str| {
        ["Box<", "Text", "*const"]
            .iter()
            .any(|one| of.contains(one))
    };
    let parameters = function.parameters.iter();
    let mut outs = parameters.clone().filter(|one| one.0.ends_with("_out"));
    let owns = function.name.ends_with("_free") || outs.any(|one| owner(&one.1));
    let parts = [
        ("Threads:", true),
        ("Errors:", can_fail && !function.name.ends_with("_error")),
        ("Ownership:", owns || (!can_fail && owner(&function.result))),
    ];
    let parts = parts.into_iter().filter(|(_, needed)| *needed);
    let mut wanted: Vec<String> = parts.map(|(words, _)| words.to_owned()).collect();
    if can_fail && function.parameters.len() > 1 {
        wanted.extend(parameters.map(|one| format!("@param {} ", one.0)));
    }
    wanted.retain(|words| !function.doc.contains(words));
    wanted
}

#[test]
fn every_function_says_who_owns_what_and_which_threads_may_call_it() {
    let functions = library(&crate::root()).unwrap().functions;
    assert!(functions.len() > 50);
    for function in functions {
        let (name, missing) = (&function.name, missing(&function));
        assert!(missing.is_empty(), "{name}: {missing:?}");
        // The caller has to free what it gets.
        assert_eq!(
            function.result.contains("Box<"),
            function.must_use,
            "{name}"
        );
    }
}
