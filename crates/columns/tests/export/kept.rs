//! Kept work is never lost silently: exports over it are refused, continue it, or begin again and say so.

use super::service::client;
use super::{
    EVERY_CHOICE, PLAIN_AND_ENCODED, Service, export, fails, names, place, run, run_pages,
};
use super::{undisturbed, work};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use talentdata_columns::arrow::{ColumnTypes, NewFieldPolicy, TableOptions, TableSchema};
use talentdata_columns::export::write_records;
use talentdata_columns::export::{Export, Format, KeptWork, Target};
use talentdata_columns::internal::WaysOut;
use talentdata_columns::internal::check_kept;
use talentdata_core::blocking::Client as BlockingClient;
use talentdata_core::types::ListName;
use talentdata_core::{Client, ErrorKind};

/// The files of a work directory with their bytes.
fn bytes(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let part = work(path, "");
    let files = names(&part).into_iter();
    files
        .map(|name| (name.clone(), fs::read(part.join(name)).unwrap()))
        .collect()
}

/// Returns an export that was stopped after it kept records of some pages.
async fn stopped(service: &Service, format: Format, path: &Path) -> Export {
    let export = export(format, path);
    let stopped = run_pages(&export, &service.client, 12).await;
    fails(stopped, ErrorKind::Cancelled, "records are kept in");
    export
}

/// Asserts that an export is refused with these words before anything is sent, and that the kept work does not change.
async fn refused(service: &Service, client: &Client, export: &Export, path: &Path, words: &str) {
    let state = || {
        let stats = service.sandbox.stats();
        (bytes(path), stats.requests, stats.token_posts)
    };
    let before = state();
    let outcome = run(export, client).await;
    fails(outcome, ErrorKind::InvalidArgument, words);
    assert!(state() == before && !path.exists(), "{words}");
}

/// A change of one setting of an export.
type Change = fn(&mut Export);

#[tokio::test]
async fn an_export_over_kept_work_is_refused_and_names_both_options() {
    let service = Service::start(1_500);
    for format in PLAIN_AND_ENCODED {
        let (_directory, path) = place();
        let mut export = stopped(&service, format, &path).await;
        export.kept = KeptWork::Refuse;
        let records = if format == Format::Jsonl { 109 } else { 1_189 };
        let words = format!(
            "out.part holds {records} records of an unfinished export of contacts, kept at 2|\
             to continue, set the option resume|begin again, set the option restart"
        );
        refused(&service, &service.client, &export, &path, &words).await;
    }
}

#[tokio::test]
async fn a_refusal_says_what_differs() {
    let service = Service::start(500);
    let (_directory, path) = place();
    let first = stopped(&service, Format::Jsonl, &path).await;
    let (url, id) = (service.sandbox.base_url(), service.sandbox.client_id());
    let cases: [(&str, Change); 6] = [
        ("limit was none and is now 50", |export| {
            export.scan.limit = Some(50)
        }),
        ("page_size was 10 and is now 100", |export| {
            export.scan.page_size = None
        }),
        ("page_size was 10 and is now 20", |export| {
            export.scan.page_size = Some(20)
        }),
        ("format was jsonl and is now csv", |export| {
            export.format = Format::Csv
        }),
        ("client_id was|is now another", |_| {}),
        ("base_url was|is now http://127.0.0.1:9", |_| {}),
    ];
    for (words, change) in cases {
        let ours = match words {
            _ if words.starts_with("client_id") => client(url, "another", "a secret"),
            _ if words.starts_with("base_url") => client("http://127.0.0.1:9", id, "a secret"),
            _ => service.client.clone(),
        };
        let mut other = first.clone();
        change(&mut other);
        assert!(!other.is_resumable(&ours) && first.is_resumable(&service.client));
        other.kept = KeptWork::Refuse;
        let words =
            format!("holds 109 records|{words}|use those settings again|the option restart");
        refused(&service, &ours, &other, &path, &words).await;
    }
}

#[tokio::test]
async fn work_of_another_list_is_refused_unless_a_restart_is_requested() {
    let service = Service::start(500);
    let (_directory, path) = place();
    let mut other = stopped(&service, Format::Jsonl, &path).await;
    other.resource = ListName::Pools;
    let words = "109 records of an unfinished export of contacts|this export is of pools: write to another path";
    for choice in [KeptWork::Refuse, KeptWork::Resume] {
        other.kept = choice;
        refused(&service, &service.client, &other, &path, words).await;
    }
    other.kept = KeptWork::Restart;
    let receipt = run(&other, &service.client).await.unwrap();
    assert_eq!((receipt.resource.as_str(), receipt.resumed), ("pools", 0));
}

#[tokio::test]
async fn a_restart_discards_the_work_and_the_receipt_says_so() {
    let service = Service::start(1_500);
    for format in PLAIN_AND_ENCODED {
        let (receipt, expected) = undisturbed(&service.client, format).await;
        assert_eq!(receipt.restarted, None);
        let (directory, path) = place();
        let mut export = stopped(&service, format, &path).await;
        export.kept = KeptWork::Restart;
        let receipt = run(&export, &service.client).await.unwrap();
        let said = receipt.restarted.unwrap();
        assert!(
            said.ends_with("kept records were discarded: a restart was requested"),
            "{said}"
        );
        assert_eq!((receipt.resumed, receipt.records), (0, 1_500));
        assert!(fs::read(&path).unwrap() == expected);
        assert_eq!(names(directory.path()), ["out"]);
        // There is nothing left to discard.
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!(receipt.restarted, None);
    }
}

#[tokio::test]
async fn after_a_change_of_settings_a_resume_begins_again_and_says_what_differed() {
    let (service, moved) = (Service::start(1_500), Service::start(1_500));
    let schema = TableSchema::of_list(&service.client.contacts(), ColumnTypes::Typed).await;
    let schema = Arc::new(schema.unwrap());
    type Change = fn(&mut Export, &Arc<TableSchema>);
    let cases: [(&str, Format, Change); 7] = [
        (
            "limit was none and is now 50",
            Format::Jsonl,
            |export, _| export.scan.limit = Some(50),
        ),
        (
            "page_size was 10 and is now 20",
            Format::Jsonl,
            |export, _| export.scan.page_size = Some(20),
        ),
        (
            "format was jsonl and is now csv",
            Format::Jsonl,
            |export, _| export.format = Format::Csv,
        ),
        (
            "format was csv and is now jsonl",
            Format::Csv,
            |export, _| export.format = Format::Jsonl,
        ),
        ("schema was none", Format::Parquet, |export, schema| {
            export.table.schema = Some(Arc::clone(schema));
        }),
        (
            "on_new_field was keep and is now fre",
            Format::Csv,
            |export, schema| {
                export.table.schema = Some(Arc::clone(schema));
                export.table.on_new = NewFieldPolicy::Freeze;
            },
        ),
        ("base_url was http", Format::Jsonl, |_, _| {}),
    ];
    for (words, format, change) in cases {
        let (directory, path) = place();
        let mut other = stopped(&service, format, &path).await;
        change(&mut other, &schema);
        let is_moved = words.starts_with("base_url");
        let ours = if is_moved {
            &moved.client
        } else {
            &service.client
        };
        let receipt = run(&other, ours).await.unwrap();
        let said = receipt.restarted.clone().unwrap();
        assert!(said.starts_with("the export began again, and 1"), "{said}");
        assert!(
            said.contains("kept records were discarded: ") && said.contains(words),
            "{said}"
        );
        assert_eq!(receipt.resumed, 0, "{said}");
        // The bytes are the same as without kept work.
        let written = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(run(&other, ours).await.unwrap().restarted, None);
        assert!(fs::read(&path).unwrap() == written, "{words}");
        assert_eq!(names(directory.path()), ["out"]);
    }
}

#[tokio::test]
async fn nothing_is_discarded_before_the_first_page() {
    let service = Service::start(500);
    let (_directory, path) = place();
    let mut other = stopped(&service, Format::Jsonl, &path).await;
    let before = bytes(&path);
    let stranger = client(service.sandbox.base_url(), "another", "a wrong secret");
    for choice in [KeptWork::Resume, KeptWork::Restart] {
        other.kept = choice;
        let words = "the 109 records of an earlier export are still kept in|out.part";
        fails(run(&other, &stranger).await, ErrorKind::Auth, words);
        assert!(bytes(&path) == before);
    }
    other.kept = KeptWork::Resume;
    let receipt = run(&other, &service.client).await.unwrap();
    assert_eq!((receipt.resumed, receipt.restarted), (1, None));
}

#[tokio::test]
async fn another_format_with_columns_continues_from_the_same_records() {
    let service = Service::start(1_500);
    let (_, expected) = undisturbed(&service.client, Format::Parquet).await;
    let (_directory, path) = place();
    let mut other = stopped(&service, Format::Csv, &path).await;
    other.format = Format::Parquet;
    assert!(other.is_resumable(&service.client));
    other.table.columns = ColumnTypes::Json;
    run_pages(&other, &service.client, 1).await.unwrap_err();
    other.table.columns = ColumnTypes::Typed;
    let receipt = run(&other, &service.client).await.unwrap();
    assert_eq!((receipt.resumed, receipt.restarted), (2, None));
    assert!(fs::read(&path).unwrap() == expected);
}

#[tokio::test]
async fn a_resume_of_damaged_work_begins_again_and_says_why() {
    let service = Service::start(1_500);
    let unreadable = "its checkpoint is damaged or of another version";
    let cases = [
        ("data", "cut", "data was changed after"),
        ("ids", "cut", "ids was changed after"),
        ("ids", "gone", "ids is missing"),
        ("checkpoint", "newer", unreadable),
        ("checkpoint", "cut", unreadable),
        ("checkpoint", "gone", unreadable),
    ];
    for format in PLAIN_AND_ENCODED {
        let (_, expected) = undisturbed(&service.client, format).await;
        for (name, harm, words) in cases {
            let (directory, path) = place();
            let export = stopped(&service, format, &path).await;
            let file = work(&path, name);
            match harm {
                "cut" => fs::write(file, "").unwrap(),
                "gone" => fs::remove_file(file).unwrap(),
                _ => {
                    let text = fs::read_to_string(&file).unwrap();
                    let newer = text.replace("checkpoint 10", "checkpoint 99");
                    fs::write(file, newer).unwrap();
                }
            }
            let receipt = run(&export, &service.client).await.unwrap();
            let said = receipt.restarted.unwrap();
            assert!(
                said.contains("kept records were discarded: ") && said.contains(words),
                "{said}"
            );
            assert_eq!((receipt.resumed, receipt.records), (0, 1_500));
            assert!(fs::read(&path).unwrap() == expected, "{format} {words}");
            assert_eq!(names(directory.path()), ["out"]);
        }
    }
}

#[tokio::test]
async fn a_work_directory_without_records_is_no_work() {
    let service = Service::start(500);
    for choice in EVERY_CHOICE {
        let (_directory, path) = place();
        let mut export = stopped(&service, Format::Jsonl, &path).await;
        // An export that is killed before its first page leaves this.
        fs::remove_file(work(&path, "data")).unwrap();
        assert!(!export.is_resumable(&service.client));
        export.kept = choice;
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!((receipt.restarted, receipt.records), (None, 500));
    }
}

#[tokio::test]
async fn a_restart_that_is_interrupted_is_resumed_and_its_receipt_still_says_so() {
    let service = Service::start(500);
    let (_directory, path) = place();
    let mut export = stopped(&service, Format::Jsonl, &path).await;
    export.scan.page_size = Some(20);
    for _ in 0..2 {
        run_pages(&export, &service.client, 2).await.unwrap_err();
    }
    let receipt = run(&export, &service.client).await.unwrap();
    assert_eq!((receipt.resumed, receipt.records), (2, 500));
    let said = receipt.restarted.unwrap();
    assert!(
        said.contains("109 kept records were discarded: page_size"),
        "{said}"
    );
}

#[tokio::test]
async fn all_kept_work_of_several_exports_is_named_in_one_error() {
    let service = Service::start(500);
    let (directory, path) = place();
    let first = stopped(&service, Format::Jsonl, &path).await;
    let second = stopped(&service, Format::Jsonl, &directory.path().join("second")).await;
    let third = export(Format::Jsonl, &directory.path().join("third"));
    let mut exports = [first, second, third];
    let config = Some(service.client.config());
    check_kept(&exports, config, &WaysOut::PLAIN).unwrap();
    for export in &mut exports {
        export.kept = KeptWork::Refuse;
    }
    let ways = WaysOut {
        resume: "go on",
        restart: "begin",
    };
    let error = check_kept(&exports, config, &ways).unwrap_err();
    let said = error.message();
    assert!(
        said.contains("out.part holds 109")
            && said.contains("; ")
            && said.contains("second.part holds 109")
    );
    let end = "; to continue, go on; to discard them and begin again, begin";
    assert!(
        said.ends_with(end) && said.matches("go on").count() == 1,
        "{said}"
    );
}

#[tokio::test]
async fn records_at_hand_do_not_replace_what_an_export_has_kept() {
    let service = Service::start(500);
    let (_directory, path) = place();
    let first = stopped(&service, Format::Jsonl, &path).await;
    let before = bytes(&path);
    let (target, table) = (Target::File(path.clone()), TableOptions::default());
    let written = write_records(
        first.resource,
        Format::Jsonl,
        &target,
        table,
        std::iter::empty(),
    );
    let words = "out.part holds records|from the service|write to another path";
    fails(written, ErrorKind::InvalidArgument, words);
    assert!(bytes(&path) == before && !path.exists());
}

#[test]
fn a_job_that_is_run_again_resumes_what_it_has_kept_itself() {
    let service = Service::start(500);
    let (_directory, path) = place();
    let sandbox = &service.sandbox;
    let (id, secret) = (sandbox.client_id(), sandbox.client_secret());
    let settings = super::service::settings(sandbox.base_url(), id, secret);
    let client = BlockingClient::new(&settings).unwrap();
    for choice in [KeptWork::Refuse, KeptWork::Restart] {
        let mut export = export(Format::Jsonl, &path);
        export.kept = choice;
        let job = export.clone().job(&client).unwrap();
        service.fail(9, 404);
        fails(job.run(), ErrorKind::NotFound, "records are kept in");
        sandbox.set_faults(r#"{"rules": []}"#).unwrap();
        // Another job kept nothing itself, so it must choose.
        if choice == KeptWork::Refuse {
            let another = export.job(&client).unwrap();
            for _ in 0..2 {
                fails(
                    another.run(),
                    ErrorKind::InvalidArgument,
                    "set the option resume",
                );
            }
        }
        assert_eq!(job.run().unwrap().resumed, 1);
    }
}
