//! Wrong usage is refused before anything is sent or written; help and completions know all names.

use crate::support::{code, names, program, run, trial};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use talentdata_core::ErrorKind;
use talentdata_core::settings::{Kind, PROFILE, SETTINGS};
use talentdata_core::types::Resource;

/// Arguments, and words of what is said.
const WRONG: &[(&str, &str)] = &[
    ("version --base-url http://talent.example", "base_url|https"),
    (
        "version --sandbox --base-url https://a.example",
        "--sandbox|--base-url",
    ),
    ("--sandbox version --profile a", "--sandbox|--profile"),
    ("export contcts --out -", "contcts|contacts|ja-skills"),
    ("export contacts", "--out"),
    ("export contacts pools --out -", "one list|directory"),
    ("plan pools pools", "pools|twice"),
    ("export pools pools --out x", "pools|twice"),
    (
        "export pools --out - --page-size 101",
        "--page-size|between 1 and 100",
    ),
    (
        "export pools --out x --receipt x",
        "--receipt|choose another path",
    ),
    ("export pools --out - --format xml", "xml|jsonl"),
    ("page contacts --limit 0", "limit|between 1 and 100"),
    (
        "check --client-version=",
        "--client-version|a value is required",
    ),
    ("check --client-version BLANK", "client_version"),
    (
        "export contacts --out x --schema s.json",
        "not a schema of talentdata",
    ),
    (
        "export contacts pools --out x --schema s.json",
        "a schema is of one list",
    ),
    ("export contacts --out x --on-new-field keep", "--schema"),
    (
        "export contacts --out x --schema s.json --columns json",
        "--columns",
    ),
    ("completions tcsh", "tcsh|bash"),
    ("verify text text", "is not a receipt"),
    ("sandbox --records=nope=3", "nope|contacts"),
    ("sandbox --records=contacts", "LIST=N"),
    ("sandbox --records=contacts=-1", "whole number"),
    ("sandbox --policy=fair", "fair|clock-window"),
    ("sandbox --rounding=off", "off|fractional"),
    ("sandbox --drift=every=2,moves=1", "moves|inserts"),
    ("sandbox --drift=inserts", "bulk-deletes"),
    ("sandbox --order=sorted", "sorted|updated-desc"),
    ("sandbox --ids=some", "some|volatile"),
    ("sandbox --total=one", "one|unknown"),
    ("sandbox --replicas=lag-percent=101", "lag-percent|100"),
    ("sandbox --port=70000", "70000"),
    ("budget --budget process", "budget = host"),
    ("export contacts --as-of 1 --out -", "--from"),
    ("export contacts --as-of noon --from m.db --out -", "noon"),
    ("sync contacts --to m.db --keep 90", "90d"),
    ("sync contacts --to m.db --max-deletes lots", "25%"),
    ("sync contacts --to m.db --receipt m.db", "--receipt|m.db"),
    ("sync contacts --to text --receipt ./text", "--receipt|text"),
    (
        "export contacts --from text --out x --receipt ./text",
        "--receipt|text",
    ),
    // A secret is never echoed, and the ways to give one are named.
    (
        "--client-secret CANARY version",
        "--client-secret-file|TALENTDATA_CLIENT_SECRET|profile",
    ),
    (
        "version --client-secret=CANARY",
        "--client-secret-file|TALENTDATA_CLIENT_SECRET|profile",
    ),
    (
        "export pools --out - --client-secret CANARY",
        "--client-secret-file",
    ),
    ("version --secret=CANARY", ""),
    ("version --client_secret=CANARY", ""),
    (
        "version --proxy=http://user:CANARY@proxy.example:3128",
        "TALENTDATA_PROXY",
    ),
];

#[test]
fn wrong_usage_is_refused_before_anything_is_sent_or_written() {
    let trial = trial(&[]);
    trial.write("text", "hello");
    trial.write("s.json", "{}");
    for (arguments, words) in WRONG {
        let mut command = trial.command("");
        command.args(arguments.split(' ').map(|word| match word {
            "BLANK" => " ",
            word => word,
        }));
        let ended = run(&mut command);
        ended.says(2, words);
        assert_eq!(ended.stdout, "", "{arguments}");
        assert!(!ended.stderr.contains("CANARY"), "{ended:?}");
    }
    let filter = run(trial
        .command("resources")
        .env("TALENTDATA_LOG", "talentdata_core=loudly"));
    filter.error(2, "TALENTDATA_LOG");
    let io = code(ErrorKind::Io);
    let receipt = trial.run("export pools --out - --receipt /nonexistent/receipt.json");
    receipt.error(io, "--receipt|/nonexistent/");
    trial
        .run("export pools --out x --receipt .")
        .error(io, "--receipt");
    trial.run("verify text nowhere").error(io, "nowhere");
    assert_eq!(trial.sandbox.stats().requests, 0);
    assert_eq!(trial.names(), ["s.json", "text"]);
    run(&mut program("version")).error(2, "base_url|TALENTDATA_BASE_URL|profiles.toml");
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
    for (lists, out, receipt) in [
        ("pools", "new.jsonl", "./new.jsonl"),
        ("pools", "new.jsonl", &*absolute),
        ("pools", "new.jsonl", "dangling"),
        ("pools", "softer", "hard"),
        ("pools", "ls/new.jsonl", "linked/new.jsonl"),
        ("pools", "softer", "there.jsonl.part"),
        ("contacts pools", "ls", "linked/contacts.jsonl"),
        ("contacts pools", "ls", "ls/pools.jsonl.part"),
    ] {
        let ended = trial.run(&format!("export {lists} --out {out} --receipt {receipt}"));
        ended.error(2, receipt);
    }
    assert_eq!(trial.sandbox.stats().requests, 0);
    assert_eq!(
        (trial.names(), trial.read("there.jsonl")),
        (before, "older".into())
    );
    assert!(names(&trial.path("ls")).is_empty());
    for (lists, out, receipt) in [
        ("pools", "new.jsonl", "new.jsonl.receipt"),
        ("pools", "new.jsonl", "ls/new.jsonl"),
        ("pools", "-", "new.jsonl"),
        ("contacts pools", "ls", "ls/receipt.json"),
    ] {
        let ended = trial.run(&format!("export {lists} --out {out} --receipt {receipt}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        trial.json(receipt);
    }
}

#[test]
fn a_wrong_setting_is_told_by_its_name() {
    for setting in SETTINGS {
        let said = match setting.kind {
            Kind::Secret => "there is no file for the secret",
            _ => setting.name,
        };
        let mut command = program("version");
        command.args([&format!("--{}", setting.flag()), " x"]);
        if !["base_url", PROFILE].contains(&setting.name) {
            command.env("TALENTDATA_BASE_URL", "http://127.0.0.1:1");
        }
        run(&mut command).error(2, said);
    }
    // A flag goes before the environment.
    for (flag, variable) in [("0.5", "-1"), ("-1", "0.5")] {
        let mut command = program("version --base-url http://127.0.0.1:1 --share");
        let ended = run(command.arg(flag).env("TALENTDATA_SHARE", variable));
        assert_eq!(
            ended.stderr.contains("share must be"),
            flag == "-1",
            "{ended:?}"
        );
    }
}

const COMMANDS: &str = "resources version check permissions page export sync changes forget plan budget schema verify \
     sandbox completions";

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
    let line = |begin: &str| {
        let mut lines = general.lines().map(str::trim_start);
        lines
            .find(|line| line.starts_with(begin))
            .unwrap_or_else(|| panic!("{begin}"))
    };
    for setting in SETTINGS {
        let flag = format!("--{}", setting.flag());
        line(&format!("{flag} <"));
        assert!(general.contains(&setting.variable()), "{flag}");
    }
    assert!(general.contains("TALENTDATA_LOG"));
    for kind in ErrorKind::ALL {
        let begin = format!("{}  ", kind.exit_code());
        assert!(line(&begin).contains(kind.summary()), "{kind:?}");
    }
}

#[test]
fn completions_know_every_list_and_bash_takes_them() {
    for shell in ["bash", "zsh"] {
        let script = run(&mut program(&format!("completions {shell}"))).stdout;
        for resource in Resource::ALL {
            let name = resource.name().replace('_', "-");
            let known = script.lines().filter(|line| line.contains(&name)).count();
            // For page, export and plan.
            assert!(known >= 3, "{shell}: {name}");
        }
        if shell == "bash" {
            let bash = std::process::Command::new("bash")
                .arg("-n")
                .stdin(Stdio::piped())
                .spawn();
            let mut bash = bash.unwrap();
            bash.stdin
                .take()
                .unwrap()
                .write_all(script.as_bytes())
                .unwrap();
            assert!(bash.wait().unwrap().success());
        }
    }
    let fish = run(&mut program("completions fish")).stdout;
    assert!(fish.contains("-l resume"), "{fish}");
}
