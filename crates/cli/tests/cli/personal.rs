//! Dropped or hashed fields of a person are in no file, log or message, after a run succeeded, failed or was killed.

use crate::support::stub::{self, api, page, serve};
use crate::support::{Ended, code, program, run, wait_until};
use serde_json::{Value, json};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use talentdata_core::ErrorKind;
use tempfile::TempDir;

/// The states of the service: it responds, it stalls on the last pages, or it sends a damaged page.
const WHOLE: u64 = 0;
const STALLED: u64 = 1;
const DAMAGED: u64 = 2;
/// The number of records, and the place of the person among them.
const RECORDS: u64 = 300;
const PERSON: u64 = 100;
/// The place of a record whose `id` is a number.
const NUMBERED: u64 = 7;
/// The fields of a record besides `id`.
const FIELDS: &str = "firstName,lastName,email,phones,address,/langs/*/name,note";

/// Returns a value that occurs nowhere else. JSON must escape a part of it.
fn value(name: &str) -> String {
    format!("CANARY-{name} \"ä\u{1f600}\"/\\ of this person")
}

fn person() -> Value {
    json!({
        "id": value("id"), "firstName": value("first"), "lastName": value("last"), "email": value("email"),
        "phones": [value("phone")], "address": {"street": value("street"), "geo": [{"city": value("city")}]},
        "langs": [{"name": value("lang"), "level": 3}], "note": value("note"), "kept": "kept",
    })
}

fn record(index: u64) -> String {
    if index == PERSON {
        return person().to_string();
    }
    let text = format!("other {index}");
    let id = if index == NUMBERED {
        json!(index)
    } else {
        json!(text)
    };
    let record = json!({
        "id": id, "firstName": text, "lastName": text, "email": text, "phones": [text],
        "address": {"street": text}, "langs": [{"name": text, "level": 3}], "note": null, "kept": "kept",
    });
    record.to_string()
}

/// Returns a text in Base64, without the characters that depend on its neighbours.
fn base64(text: &[u8], shift: usize) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes = [&vec![0; shift], text].concat();
    let mut out = String::new();
    for three in bytes.chunks_exact(3) {
        let bits = three
            .iter()
            .fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        for place in [18, 12, 6, 0] {
            out.push(char::from(letters[bits >> place & 63]));
        }
    }
    out.split_off(shift * 2)
}

/// The forms in which values may be written.
fn forms(with_id: bool) -> Vec<Vec<u8>> {
    let names = [
        "first", "last", "email", "phone", "street", "city", "lang", "note",
    ];
    let names = names.into_iter().chain(with_id.then_some("id"));
    let of = |name: &str| {
        let text = value(name);
        let escaped = json!(text).to_string().trim_matches('"').to_owned();
        let ascii = escaped
            .replace('ä', "\\u00e4")
            .replace('\u{1f600}', "\\ud83d\\ude00");
        let encoded = [0, 1, 2].map(|shift| base64(text.as_bytes(), shift));
        // The part that no writer escapes.
        let core = format!("CANARY-{name} ");
        [vec![text, escaped, ascii, core], encoded.to_vec()].concat()
    };
    names.flat_map(of).map(String::into_bytes).collect()
}

/// Returns the files below a directory that contain one of these texts.
fn found(directory: &Path, forms: &[Vec<u8>]) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(found(&path, forms));
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let has = |form: &&Vec<u8>| {
            bytes
                .windows(form.len())
                .any(|part| part == form.as_slice())
        };
        if forms.iter().any(|form| has(&form)) {
            names.push(path.display().to_string());
        }
    }
    names
}

/// A service with the person, and the directory in which the program runs.
struct Service {
    base_url: String,
    state: Arc<AtomicU64>,
    directory: TempDir,
}

impl Service {
    fn start() -> Self {
        let state = Arc::new(AtomicU64::new(WHOLE));
        let seen = Arc::clone(&state);
        let base_url = serve(api(move |request| {
            let body = page(request, "contacts", RECORDS, 100, record);
            match seen.load(Ordering::Relaxed) {
                STALLED if request.number("offset") >= Some(190) => loop {
                    std::thread::park();
                },
                DAMAGED if request.number("offset") >= Some(90) => {
                    (200, "", body.replace(",{\"id\":\"other 1", "{"))
                }
                _ => (200, "", body),
            }
        }));
        let directory = tempfile::tempdir().unwrap();
        Service {
            base_url,
            state,
            directory,
        }
    }

    /// Returns the program, whose log is in the file `log`.
    fn command(&self, words: &str) -> Command {
        let place = self.directory.path();
        let log = File::options()
            .append(true)
            .create(true)
            .open(place.join("log"));
        let mut command = program(words);
        command
            .current_dir(place)
            .env("TMPDIR", place)
            .env("TALENTDATA_BASE_URL", &self.base_url)
            .env("TALENTDATA_CLIENT_ID", "me")
            .env("TALENTDATA_CLIENT_SECRET", stub::SECRET)
            .env("TALENTDATA_PACED", "false")
            .env("TALENTDATA_MAX_ATTEMPTS", "1")
            .env("TALENTDATA_HASH_KEY", "0123456789abcdef0123456789abcdef")
            .env("TALENTDATA_LOG", "trace")
            .stderr(Stdio::from(log.unwrap()));
        command
    }

    fn set(&self, state: u64) {
        self.state.store(state, Ordering::Relaxed);
    }
}

/// The jobs, and a file that exists in the middle of them.
const JOBS: [(&str, &str); 5] = [
    (
        "export contacts --format jsonl --out out --receipt receipt",
        "out.part/checkpoint",
    ),
    (
        "export contacts --format csv --out out --receipt receipt",
        "out.part/checkpoint",
    ),
    (
        "export contacts --format parquet --out out --receipt receipt",
        "out.part/checkpoint",
    ),
    (
        "export contacts --format arrow --out out --receipt receipt",
        "out.part/checkpoint",
    ),
    (
        "sync contacts --to mirror.db --receipt receipt",
        "mirror.db",
    ),
];

/// Returns whether a mirror exists, or a checkpoint of some records.
fn is_begun(path: &Path) -> bool {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    text.is_ok_and(|text| path.ends_with("mirror.db") || text.contains(r#""progress":{"#))
}

/// Checks that none of these forms is in any file after a job was killed, failed or succeeded.
fn check(policy: &str, forms: &[Vec<u8>]) {
    for (job, middle) in JOBS {
        let service = Service::start();
        let place = service.directory.path();
        let none = |when: &str| assert_eq!(found(place, forms), [""; 0], "{job} {policy}: {when}");
        let words = format!("{job} {policy}");
        service.set(STALLED);
        let mut child = service
            .command(&words)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(&mut child, || is_begun(&place.join(middle)));
        none("while it runs");
        child.kill().unwrap();
        child.wait().unwrap();
        none("killed");
        let again = if job.starts_with("export") {
            format!("{words} --restart")
        } else {
            words.clone()
        };
        service.set(DAMAGED);
        let ended = service.command(&again).output().unwrap();
        assert!(!ended.status.success(), "{job}");
        none("failed");
        service.set(WHOLE);
        let ended = service.command(&again).output().unwrap();
        let log = || fs::read_to_string(place.join("log")).unwrap();
        assert!(ended.status.success(), "{job}: {}", log());
        none("ended");
        let receipt: Value =
            serde_json::from_slice(&fs::read(place.join("receipt")).unwrap()).unwrap();
        let scan = receipt[0].get("scan").unwrap_or(&receipt[0]);
        assert_eq!(scan["records"], RECORDS, "{receipt}");
        assert_eq!(scan["completeness"], "proven", "{receipt}");
        assert_eq!(scan["unmatched_fields"], json!([]), "{receipt}");
    }
}

#[test]
fn a_person_is_in_no_file_without_the_dropped_fields() {
    check(&format!("--drop {FIELDS}"), &forms(false));
}

#[test]
fn a_person_is_in_no_file_with_hashed_fields() {
    check(&format!("--hash id,{FIELDS}"), &forms(true));
}

/// Proves that the tests above can find the person.
#[test]
fn a_person_is_found_if_nothing_is_dropped() {
    for (job, _) in JOBS {
        let service = Service::start();
        let ended = service.command(job).output().unwrap();
        assert!(ended.status.success(), "{job}");
        assert_ne!(
            found(service.directory.path(), &forms(false)),
            [""; 0],
            "{job}"
        );
    }
    let encoded = base64(b"xCANARY of this person", 0);
    assert!(
        encoded.contains(&base64(b"CANARY of this perso", 1)),
        "{encoded}"
    );
}

/// Pages are joined by the original records, so that different people do not become one.
#[test]
fn records_that_differ_only_in_dropped_fields_stay_apart() {
    let record = |index| format!(r#"{{"email":"{index}@example.org"}}"#);
    let service = Service {
        base_url: serve(api(move |request| {
            (200, "", page(request, "contacts", RECORDS, 100, record))
        })),
        state: Arc::default(),
        directory: tempfile::tempdir().unwrap(),
    };
    let words = "export contacts --drop email --out out --receipt receipt";
    assert!(service.command(words).status().unwrap().success());
    let read = |name: &str| fs::read_to_string(service.directory.path().join(name)).unwrap();
    assert_eq!(read("out"), "{}\n".repeat(RECORDS as usize));
    let receipt: Value = serde_json::from_str(&read("receipt")).unwrap();
    assert_eq!(receipt[0]["completeness"], "proven", "{receipt}");
}

#[test]
fn a_mirror_refuses_another_key_and_an_export_begins_again() {
    let service = Service::start();
    let command = |words: &str, key: &str| {
        let mut command = service.command(words);
        command.env("TALENTDATA_HASH_KEY", key.repeat(32));
        command.env_remove("TALENTDATA_LOG").stderr(Stdio::piped());
        command
    };
    let sync = |key| {
        run(&mut command(
            "sync contacts --to mirror.db --hash email",
            key,
        ))
    };
    sync("a").says(0, "");
    let words = "parameters: |hash key|sync into another file";
    sync("b").says(code(ErrorKind::Mismatch), words);
    service.set(STALLED);
    let export = "export contacts --out out --hash email --resume";
    let mut child = command(export, "a").spawn().unwrap();
    let checkpoint = service.directory.path().join("out.part/checkpoint");
    wait_until(&mut child, || is_begun(&checkpoint));
    child.kill().unwrap();
    child.wait().unwrap();
    service.set(WHOLE);
    run(&mut command(export, "b")).says(0, "warning: contacts: |hash key");
}

#[test]
fn a_record_with_a_hashed_id_is_erased_by_its_plain_id_and_the_key() {
    let service = Service::start();
    let command = |words: &str, key: Option<&str>| {
        let mut command = service.command(words);
        command.env_remove("TALENTDATA_LOG").stderr(Stdio::piped());
        command.env_remove("TALENTDATA_HASH_KEY");
        if let Some(key) = key {
            command.env("TALENTDATA_HASH_KEY", key.repeat(32));
        }
        command
    };
    run(&mut command("sync contacts --to m.db --hash id", Some("a"))).says(0, "");
    let forget = |id: &str, key| {
        let mut command = command("forget contacts --from m.db --record", key);
        // The address of the service is not needed.
        run(command.arg(id).env_remove("TALENTDATA_BASE_URL"))
    };
    let missing =
        "hash_key: the ids of contacts are hashed, so \"other 3\" can only be found with the key";
    forget("other 3", None).says(code(ErrorKind::Config), missing);
    let another =
        "hash_key: the ids of contacts were hashed with another key; give the key of the sync";
    forget("other 3", Some("b")).says(code(ErrorKind::Mismatch), another);
    forget("nobody", Some("a")).says(
        code(ErrorKind::InvalidArgument),
        "has no record with 1 of the 1 ids",
    );
    for id in ["other 3", "7", &value("id")] {
        forget(id, Some("a")).says(0, "erased 1 records with 1 versions");
    }
    run(&mut command("verify m.db", None)).says(0, "");
    // A key that is too short does not matter if nothing is hashed.
    run(&mut command("sync contacts --to plain.db", None)).says(0, "");
    let mut plain = command("forget contacts --from plain.db --record 7", None);
    run(plain.env("TALENTDATA_HASH_KEY", "a")).says(0, "erased 1 records");
}

/// Writes a profile file that drops the address.
fn write_profile(place: &Path, mode: u32) {
    let profile = place.join("talentdata/profiles.toml");
    fs::create_dir_all(place.join("talentdata")).unwrap();
    fs::write(&profile, "[default.lists.contacts]\ndrop = [\"email\"]\n").unwrap();
    fs::set_permissions(&profile, Permissions::from_mode(mode)).unwrap();
}

/// Runs a command in the directory of a service, with the profile file that is there.
fn with_profile(service: &Service, words: &str) -> Ended {
    let mut command = service.command(words);
    command.env("XDG_CONFIG_HOME", service.directory.path());
    command.env_remove("TALENTDATA_LOG").stderr(Stdio::piped());
    run(&mut command)
}

#[test]
fn a_profile_drops_fields_and_the_command_says_so() {
    let service = Service::start();
    let place = service.directory.path();
    let unused = "warning: the profile file is not used, except its setting lists: |chmod 600";
    for (mode, words) in [(0o600, ""), (0o640, unused)] {
        write_profile(place, mode);
        let ended = with_profile(&service, "export contacts --out out --drop note");
        ended.says(0, words);
        ended.says(0, "contacts: the setting lists drops email\n");
        let text = fs::read_to_string(place.join("out")).unwrap();
        assert_eq!(text.lines().count() as u64, RECORDS);
        assert!(
            text.contains("firstName") && !text.contains("email") && !text.contains("note"),
            "{text}"
        );
    }
}

#[test]
fn a_mirror_from_before_a_policy_is_read_with_a_warning() {
    let service = Service::start();
    let place = service.directory.path();
    let reads = [
        "export contacts --from old.db --out out",
        "changes contacts --from old.db --out out",
    ];
    with_profile(&service, "sync contacts --to old.db").says(0, "");
    write_profile(place, 0o600);
    with_profile(&service, "sync contacts --to new.db --drop phones").says(0, "");
    let warning = "warning: contacts: the setting lists drops email, but the mirror";
    for words in reads {
        with_profile(&service, words).says(0, warning);
        let ended = with_profile(&service, &words.replace("old", "new"));
        assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    }
    let refused = format!("{} --drop email", reads[0]);
    let words = "--drop: cannot be combined with --from|sync with --drop into a new mirror";
    with_profile(&service, &refused).says(code(ErrorKind::InvalidArgument), words);
}

/// The service's own sentence stays in the error.
#[test]
fn a_failed_page_is_not_quoted_if_fields_are_dropped() {
    for (status, body, said) in [
        (
            400,
            r#"{"success":false,"message":"wrong offset","contacts":[{"email":"CANARY"}]}"#,
            "wrong offset",
        ),
        (200, r#"{"CANARY":1,"pagination":{}}"#, "error: "),
    ] {
        let base_url = serve(api(move |_| (status, "", body.to_owned())));
        let service = Service {
            base_url,
            state: Arc::default(),
            directory: tempfile::tempdir().unwrap(),
        };
        for (words, is_quoted) in [("--drop email", false), ("", true)] {
            let words = format!("export contacts --out out -v {words}");
            let ended = with_profile(&service, &words);
            assert!(ended.stderr.contains(said), "{}", ended.stderr);
            assert_eq!(
                ended.stderr.contains("CANARY"),
                is_quoted,
                "{}",
                ended.stderr
            );
        }
    }
}

#[test]
fn the_files_of_an_export_are_usable_under_any_umask() {
    let service = Service::start();
    let place = service.directory.path();
    let umask = |mask: &str, words: &str| {
        let mut shell = Command::new("sh");
        let own = service.command(words);
        let script = format!("umask {mask}; exec \"$0\" \"$@\"");
        shell
            .args(["-c", &script])
            .arg(own.get_program())
            .args(own.get_args());
        let set = own
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        shell.envs(set).current_dir(place);
        shell.env_remove("TALENTDATA_LOG");
        run(&mut shell).says(0, "");
    };
    for mask in ["0177", "0277", "0777"] {
        umask(
            mask,
            "export contacts --format csv --out out --receipt receipt --restart",
        );
        for name in ["out", "receipt"] {
            let mode = fs::metadata(place.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{mask} {name}");
            fs::remove_file(place.join(name)).unwrap();
        }
        assert!(!place.join("out.part").exists(), "{mask}");
    }
}
