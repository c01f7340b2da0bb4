//! A file held against its receipt: exit codes, the report, and what is refused.

use crate::support::{against, names, program, records, run, sandbox};
use serde_json::Value;
use std::fs;
use talentdata_core::ErrorKind;

#[test]
fn a_file_holds_until_a_record_is_altered() {
    let sandbox = sandbox(records(&[("contacts", 25), ("pools", 10)]));
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| run(against(&sandbox, arguments).current_dir(directory.path()));
    let export = ["export", "contacts", "pools", "--out", "lists", "--receipt"];
    run(&[&export[..], &["r.json"]].concat());
    let kept = ["lists", "r.json"];
    assert_eq!(names(directory.path()), kept);
    for (list, count) in [("contacts", 25), ("pools", 10)] {
        let path = directory.path().join(format!("lists/{list}.jsonl"));
        let verify = ["verify", path.to_str().unwrap(), "r.json"];
        let report = run(&verify).json();
        assert_eq!(
            (&report["holds"], &report["records"]),
            (&true.into(), &count.into())
        );
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("\"id\"", "\"iD\"", 1)).unwrap();
        let ended = run(&verify);
        assert_eq!(ended.code, Some(36), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1);
        assert!(
            ended
                .stderr
                .contains("is not what its receipt says: its BLAKE3 is")
        );
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        let found: Vec<&str> = report["differences"]
            .as_array()
            .unwrap()
            .iter()
            .map(|difference| difference["finding"].as_str().unwrap())
            .collect();
        assert_eq!(found, ["blake3", "altered"]);
    }
    let renamed = directory.path().join("lists/others.jsonl");
    fs::rename(directory.path().join("lists/pools.jsonl"), &renamed).unwrap();
    let ended = run(&["verify", "lists/others.jsonl", "r.json"]);
    assert!(
        ended
            .error(2)
            .contains("only of contacts.jsonl, pools.jsonl")
    );
}

#[test]
fn standard_output_has_a_receipt_too() {
    let sandbox = sandbox(records(&[("pools", 300)]));
    let directory = tempfile::tempdir().unwrap();
    let (file, receipt) = (directory.path().join("a"), directory.path().join("r"));
    let receipt = receipt.to_str().unwrap();
    for format in ["jsonl", "csv", "parquet", "arrow"] {
        let export = [
            "export",
            "pools",
            "--out",
            "-",
            "--format",
            format,
            "--receipt",
            receipt,
        ];
        let output = against(&sandbox, &export).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::write(&file, output.stdout).unwrap();
        let report = run(&mut program(&["verify", file.to_str().unwrap(), receipt])).json();
        assert_eq!(report["records"], 300, "{format}");
        let written = &report["written"];
        assert_eq!(
            (&written["file"], &written["format"]),
            (&Value::Null, &format.into())
        );
    }
}

#[test]
fn what_is_no_receipt_or_no_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("text"), "hello").unwrap();
    let io = i32::from(ErrorKind::Io.exit_code());
    for (file, receipt, code, says) in [
        ("text", "text", 2, "is not a receipt"),
        ("text", "nowhere", io, "nowhere"),
    ] {
        let ended = run(&mut program(&["verify", &path(file), &path(receipt)]));
        assert!(ended.error(code).contains(says), "{ended:?}");
    }
    let ended = run(&mut program(&["verify", "a", "b", "--sandbox"]));
    assert_eq!(ended.code, Some(2));
}
