//! Help teaches, and completions know the names.

use crate::support::{program, run};
use std::io::Write;
use std::process::{Command, Stdio};
use talentdata_core::ErrorKind;
use talentdata_core::settings::SETTINGS;
use talentdata_core::types::Resource;

const VERBS: [&str; 14] = [
    "resources",
    "version",
    "check",
    "permissions",
    "page",
    "export",
    "sync",
    "changes",
    "plan",
    "budget",
    "schema",
    "verify",
    "sandbox",
    "completions",
];

#[test]
fn every_verb_has_an_example_that_uses_it() {
    let general = run(&mut program(&["--help"])).stdout;
    for verb in VERBS {
        assert!(general.contains(&format!("  {verb} ")), "{verb}");
        for flag in ["-h", "--help"] {
            let help = run(&mut program(&[verb, flag])).stdout;
            let (_, examples) = help.split_once("Example").expect(verb);
            assert!(
                examples.contains(&format!("talentdata {verb}")),
                "{verb}: {help}"
            );
        }
    }
}

#[test]
fn the_general_help_lists_settings_and_exit_codes() {
    let help = run(&mut program(&["--help"])).stdout;
    assert!(help.contains("TALENTDATA_LOG"), "{help}");
    for setting in SETTINGS {
        let (flag, variable) = (format!("--{}", setting.flag()), setting.variable());
        let line = help.lines().find(|line| line.contains(&variable));
        assert!(line.is_some_and(|line| line.contains(&flag)), "{flag}");
        let option = help
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("{flag} <")));
        assert!(option.is_some(), "{flag}");
    }
    for kind in ErrorKind::ALL {
        let code = format!("{:>3}  ", kind.exit_code());
        let line = help
            .lines()
            .find(|line| line.trim_start().starts_with(code.trim_start()));
        assert!(
            line.is_some_and(|line| line.contains(kind.summary())),
            "{kind:?}"
        );
    }
}

#[test]
fn nothing_typed_is_a_usage_error_that_shows_the_verbs() {
    let ended = run(&mut program(&[]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(
        VERBS.iter().all(|verb| ended.stderr.contains(verb)),
        "{ended:?}"
    );
}

#[test]
fn completions_know_every_list() {
    for shell in ["bash", "zsh"] {
        let script = run(&mut program(&["completions", shell])).stdout;
        for resource in Resource::ALL {
            let name = resource.name().replace('_', "-");
            // For list, export and plan.
            let known = script.lines().filter(|line| line.contains(&name)).count();
            assert!(known >= 3, "{shell}: {name}");
        }
    }
    let fish = run(&mut program(&["completions", "fish"])).stdout;
    assert!(fish.contains("-l resume"), "{fish}");
    let ended = run(&mut program(&["completions", "tcsh"]));
    assert_eq!(ended.code, Some(2));
}

#[test]
fn bash_takes_its_completions() {
    let script = run(&mut program(&["completions", "bash"])).stdout;
    let shell = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn();
    // Where there is no bash, nobody completes in it.
    let Ok(mut shell) = shell else { return };
    shell
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    assert!(shell.wait().unwrap().success());
}
