//! Wrong usage is refused before anything is sent or written. Help and completions contain all names.

use crate::support::{names, program, run, trial};
use std::os::unix::fs::symlink;
use std::process::Command;
use talentdata_core::ErrorKind;
use talentdata_core::internal::settings::{PROFILE, SETTINGS};
use talentdata_core::types::ListName;

#[test]
fn wrong_usage_is_refused_before_anything_is_sent_or_written() {
    let trial = trial(&[]);
    trial.write("text", "hello");
    trial.write("s.json", "{}");
    let rows: Vec<(i32, String, String)> =
        serde_json::from_str(include_str!("usage.json")).unwrap();
    for (code, arguments, words) in rows {
        let mut command = trial.command("");
        let blank = |word| if word == "BLANK" { " " } else { word };
        let ended = run(command.args(arguments.split(' ').map(blank)));
        match code {
            2 => ended.says(code, &words),
            _ => ended.error(code, &words),
        };
        assert_eq!(ended.stdout, "", "{arguments}");
        // A secret is never repeated. The message names the ways to give one.
        assert!(!ended.stderr.contains("CANARY"), "{ended:?}");
    }
    let mut filter = trial.command("resources");
    filter.env("TALENTDATA_LOG", "talentdata_core=loudly");
    run(&mut filter).error(2, "TALENTDATA_LOG");
    assert_eq!(trial.sandbox.stats().requests, 0);
    assert_eq!(trial.names(), ["s.json", "text"]);
    run(&mut program("version")).error(
        2,
        "base_url|TALENTDATA_BASE_URL|profiles.toml|add --sandbox",
    );
}

#[test]
fn a_receipt_never_replaces_what_an_export_writes() {
    let trial = trial(&[("pools", 5), ("contacts", 5)]);
    std::fs::create_dir(trial.path("ls")).unwrap();
    trial.write("there.jsonl", "older");
    std::fs::hard_link(trial.path("there.jsonl"), trial.path("hard")).unwrap();
    for (target, link) in [
        ("there.jsonl", "soft"),
        ("soft", "softer"),
        ("new.jsonl", "dangling"),
        ("ls", "linked"),
    ] {
        symlink(target, trial.path(link)).unwrap();
    }
    let before = trial.names();
    let absolute = trial.path("new.jsonl").display().to_string();
    for (words, receipt, is_refused) in [
        ("pools --out new.jsonl", "./new.jsonl", true),
        ("pools --out new.jsonl", &*absolute, true),
        ("pools --out new.jsonl", "dangling", true),
        ("pools --out softer", "hard", true),
        ("pools --out softer", "there.jsonl.part", true),
        ("pools --out ls/new.jsonl", "linked/new.jsonl", true),
        ("contacts pools --out ls", "linked/contacts.jsonl", true),
        ("contacts pools --out ls", "ls/pools.jsonl.part", true),
        ("pools --out new.jsonl", "new.jsonl.receipt", false),
        ("pools --out new.jsonl", "ls/new.jsonl", false),
        ("pools --out -", "new.jsonl", false),
        ("contacts pools --out ls", "ls/receipt.json", false),
    ] {
        let ended = trial.run(&format!("export {words} --receipt {receipt}"));
        if is_refused {
            ended.error(2, receipt);
            assert_eq!(trial.sandbox.stats().requests, 0);
            assert_eq!(
                (trial.names(), trial.read("there.jsonl")),
                (before.clone(), "older".into())
            );
            assert!(names(&trial.path("ls")).is_empty());
        } else {
            assert_eq!(ended.code, Some(0), "{ended:?}");
            trial.json(receipt);
        }
    }
}

#[test]
fn a_wrong_setting_is_reported_by_its_name() {
    for setting in SETTINGS {
        let Some(flag) = setting.flag() else { continue };
        let mut command = program("version");
        command.args([&format!("--{flag}"), " x"]);
        if !["base_url", PROFILE].contains(&setting.name) {
            command.env("TALENTDATA_BASE_URL", "http://127.0.0.1:1");
        }
        run(&mut command).error(2, setting.name);
    }
    // A flag takes precedence over the environment.
    for (flag, variable, is_wrong) in [("0.5", "-1", false), ("-1", "0.5", true)] {
        let mut command = program("version --base-url http://127.0.0.1:1 --share");
        let ended = run(command.arg(flag).env("TALENTDATA_SHARE", variable));
        assert_eq!(
            ended.stderr.contains("share must be"),
            is_wrong,
            "{ended:?}"
        );
    }
}

const COMMANDS: &str = "resources version check permissions page export sync changes history forget plan budget doctor schema \
     verify adbc sandbox completions";

#[test]
fn help_has_an_example_of_every_command_the_settings_and_the_exit_codes() {
    let general = run(&mut program("--help")).stdout;
    let nothing = run(&mut program(""));
    assert_eq!((nothing.code, &*nothing.stdout), (Some(2), ""));
    for command in COMMANDS.split_whitespace() {
        assert!(general.contains(&format!("  {command} ")), "{command}");
        assert!(nothing.stderr.contains(command), "{nothing:?}");
        for flag in ["-h", "--help"] {
            let help = run(&mut program(&format!("{command} {flag}"))).stdout;
            let (_, examples) = help.split_once("Example").expect(command);
            assert!(
                examples.contains(&format!("talentdata {command}")),
                "{help}"
            );
        }
    }
    let page = |name: &str| run(&mut program(&format!("help {name}"))).stdout;
    let [settings, codes] = ["settings", "exit-codes"].map(page);
    let line = |page: &str, begin: &str| {
        let mut lines = page.lines().map(str::trim_start);
        lines
            .find(|line| line.starts_with(begin))
            .map(str::to_owned)
            .unwrap_or_else(|| panic!("{begin}"))
    };
    for setting in SETTINGS {
        if let Some(flag) = setting.flag() {
            line(&settings, &format!("--{flag} {}", setting.variable()));
        }
        let words = settings.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(setting.note), "{}", setting.name);
        assert!(settings.contains(&setting.variable()), "{}", setting.name);
    }
    assert!(page("environment").contains("TALENTDATA_LOG"));
    for kind in ErrorKind::ALL {
        let begin = format!("{}  {}", kind.exit_code(), kind.name());
        assert!(line(&codes, &begin).contains(kind.summary()), "{kind:?}");
    }
}

#[test]
fn completions_contain_every_list_and_are_valid_in_bash() {
    let script = |shell: &str| run(&mut program(&format!("completions {shell}"))).stdout;
    let [bash, zsh] = ["bash", "zsh"].map(script);
    for resource in ListName::ALL {
        let name = resource.name().replace('_', "-");
        for script in [&bash, &zsh] {
            // The list is an argument of page, export and plan.
            let known = script.lines().filter(|line| line.contains(&name)).count();
            assert!(known >= 3, "{name}: {script}");
        }
    }
    let syntax = Command::new("bash").args(["-nc", &bash]).status();
    assert!(syntax.unwrap().success());
    assert!(script("fish").contains("-l resume"));
}
