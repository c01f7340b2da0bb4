//! Only an unfinished export with the same key, left as it was, is resumed.

use super::service::client;
use super::{Service, export, names, run, run_pages, work};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use talentdata_columns::export::Export;
use talentdata_core::types::Resource;
use talentdata_core::{Client, ErrorKind};

/// A service, and an export of it that was stopped.
struct Stopped {
    service: Service,
    directory: tempfile::TempDir,
    export: Export,
}

impl Stopped {
    async fn new() -> Self {
        let service = Service::start(100);
        let directory = tempfile::tempdir().unwrap();
        let export = export(&directory.path().join("out.jsonl"));
        run_pages(&export, &service.client, 4).await.unwrap_err();
        Stopped {
            service,
            directory,
            export,
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("out.jsonl")
    }

    /// Resuming is refused with this kind and in words that hold these, and changes nothing.
    async fn refuses(&self, export: &Export, kind: ErrorKind, words: &[&str]) {
        let client = &self.service.client;
        self.refuses_to(client, export, kind, words).await;
    }

    /// The same for another client.
    async fn refuses_to(&self, client: &Client, export: &Export, kind: ErrorKind, words: &[&str]) {
        let before = contents(self.directory.path());
        let error = run(export, client).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let way_out = ["out.jsonl.part", "without resume"];
        for word in words.iter().chain(&way_out) {
            assert!(error.message().contains(word), "{word:?} in {error}");
        }
        assert_eq!(contents(self.directory.path()), before);
    }

    /// It is refused whether it is to be resumed or to begin again, and nothing is changed: only a valid
    /// checkpoint says that the files are ours.
    async fn refuses_always(&self, words: &[&str]) {
        for resume in [true, false] {
            let export = Export {
                resume,
                ..self.export.clone()
            };
            let before = contents(self.directory.path());
            let error = run(&export, &self.service.client).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            let way_out = ["out.jsonl.part", "move it away"];
            for word in words.iter().chain(&way_out) {
                assert!(error.message().contains(word), "{word:?} in {error}");
            }
            assert_eq!(contents(self.directory.path()), before);
        }
    }

    async fn starts_afresh(&self, export: &Export) {
        let afresh = Export {
            resume: false,
            ..export.clone()
        };
        let receipt = run(&afresh, &self.service.client).await.unwrap();
        assert_eq!(receipt.resumed, 0);
        assert_eq!(
            fs::read_to_string(self.path()).unwrap(),
            self.service.lines()
        );
        assert_eq!(names(self.directory.path()), ["out.jsonl"]);
    }

    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let path = work(&self.path(), "checkpoint");
        let text = fs::read_to_string(&path).unwrap();
        let (mut header, json) = text.split_once('\n').unwrap();
        let mut checkpoint = serde_json::from_str(json).unwrap();
        change(&mut checkpoint);
        let json = checkpoint.to_string();
        header = header.rsplit_once(' ').unwrap().0;
        let hash = blake3::hash(json.as_bytes());
        fs::write(path, format!("{header} {hash}\n{json}")).unwrap();
    }
}

/// The files of the export, those in its work directory too.
fn contents(directory: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    for name in names(directory) {
        let path = directory.join(&name);
        if path.is_dir() {
            all.extend(contents(&path));
        }
        let bytes = fs::read(&path).ok();
        all.push((path, bytes));
    }
    all
}

#[tokio::test]
async fn another_key_is_refused_and_the_message_says_what_differs() {
    let stopped = Stopped::new().await;
    let mut other = stopped.export.clone();
    other.resource = Resource::Pools;
    let invalid = ErrorKind::InvalidArgument;
    stopped
        .refuses(&other, invalid, &["resource: ", "contacts", "pools"])
        .await;
    let mut other = stopped.export.clone();
    other.scan.page_size = Some(20);
    stopped
        .refuses(&other, invalid, &["page_size: ", "10", "20"])
        .await;
    other.scan.page_size = None;
    stopped
        .refuses(&other, invalid, &["page_size: ", "10", "100"])
        .await;
    let sandbox = &stopped.service.sandbox;
    let (here, id) = (sandbox.base_url(), sandbox.client_id());
    let stranger = client(here, "another-company", sandbox.client_secret());
    stopped
        .refuses_to(
            &stranger,
            &stopped.export,
            invalid,
            &["client_id: ", id, "another-company"],
        )
        .await;
    stopped.edit(|checkpoint| {
        let settings = checkpoint["key"].as_array_mut().unwrap();
        let base_url = settings.iter_mut().find(|pair| pair[0] == "base_url");
        base_url.unwrap()[1] = "https://a.example".into();
    });
    let words = ["base_url: ", "https://a.example", here];
    stopped.refuses(&stopped.export, invalid, &words).await;
    stopped.starts_afresh(&stopped.export).await;
}

#[tokio::test]
async fn a_checkpoint_of_another_version_is_refused() {
    let stopped = Stopped::new().await;
    let path = work(&stopped.path(), "checkpoint");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text.replacen("checkpoint 8", "checkpoint 9", 1)).unwrap();
    stopped.refuses_always(&["version 9"]).await;
}

#[tokio::test]
async fn a_damaged_checkpoint_is_refused_wherever_it_ends() {
    let stopped = Stopped::new().await;
    let path = work(&stopped.path(), "checkpoint");
    let whole = fs::read(&path).unwrap();
    for length in [0, 1, 10, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        stopped.refuses_always(&["damaged"]).await;
    }
    for foreign in ["[]\n", "talentdata export checkpoint 8\n{}", "\0\u{fffd}"] {
        fs::write(&path, foreign).unwrap();
        stopped.refuses_always(&["damaged"]).await;
    }
    fs::write(&path, whole).unwrap();
    stopped.starts_afresh(&stopped.export).await;
}

#[tokio::test]
async fn a_part_file_that_was_changed_is_refused() {
    let stopped = Stopped::new().await;
    let part = work(&stopped.path(), "data");
    let whole = fs::read(&part).unwrap();
    fs::write(&part, &whole[..whole.len() - 1]).unwrap();
    let length = whole.len().to_string();
    stopped
        .refuses(&stopped.export, ErrorKind::Io, &[&length])
        .await;
    let mut edited = whole.clone();
    edited[whole.len() - 9] ^= 1;
    fs::write(&part, edited).unwrap();
    stopped
        .refuses(&stopped.export, ErrorKind::Io, &["was changed"])
        .await;
    fs::write(&part, &whole).unwrap();
    run(&stopped.export, &stopped.service.client).await.unwrap();
    assert_eq!(
        fs::read_to_string(stopped.path()).unwrap(),
        stopped.service.lines()
    );
}

#[tokio::test]
async fn what_is_left_of_another_export_stays_until_there_is_something_to_write() {
    let stopped = Stopped::new().await;
    let rule = serde_json::json!({"reply": {"status": 403}});
    let script = serde_json::json!({"rules": [rule]});
    stopped.service.ask("POST", "/__faults", &script);
    let before = contents(stopped.directory.path());
    let mut afresh = stopped.export.clone();
    afresh.resume = false;
    let error = run(&afresh, &stopped.service.client).await.unwrap_err();
    assert!(error.message().contains("is unchanged"), "{error}");
    assert_eq!(contents(stopped.directory.path()), before);
}
