//! Erasures of single records, which leave nothing in any file and do not change other records.

use super::*;
use crate::{Erase, Erasure, acknowledge};
use std::fs;

/// Returns the person who is erased, in this version. Each field has a unique text.
fn canary(version: u64) -> String {
    format!(
        "{{\"id\":\"canary-id\",\"firstName\":\"canary-name{version}\",\"score\":{version},\"note\":\"canary\\u002dnote \
         \\\"q\\\"\",\"phones\":[{{\"number\":\"canary-phone\"}}]}}"
    )
}

/// Returns the texts of the person's fields except the id, in all encodings that a file may have.
pub(super) const TRACES: [&[u8]; 7] = [
    b"canary-name",
    b"canary-note",
    b"canary\\u002dnote",
    b"canary-phone",
    // The name in Base64, at each of the three offsets in a group.
    b"Y2FuYXJ5LW5hbW",
    b"NhbmFyeS1uYW1l",
    b"jYW5hcnktbmFtZ",
];

/// Returns the traces of the person in the files of the mirror's directory.
pub(super) fn traces(trial: &Trial, of: &[&[u8]]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(trial.path.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        for trace in of {
            if bytes.windows(trace.len()).any(|window| window == *trace) {
                let name = path.file_name().unwrap().to_string_lossy();
                found.push(format!("{name}: {}", String::from_utf8_lossy(trace)));
            }
        }
    }
    found
}

/// Creates a mirror with some hundred records. The person has three versions and is missing once. Another record is
/// deleted.
pub(super) fn lived_in() -> Trial {
    let trial = Trial::of(0..300);
    let mut texts = contacts(0..300);
    texts.insert(100, canary(0));
    trial.sync(&texts, COUNTED);
    texts[100] = canary(1);
    texts[7] = contact(7, 1);
    trial.sync(&texts, COUNTED);
    let mut fewer = texts.clone();
    fewer.retain(|text| !text.contains("canary"));
    trial.sync(&fewer, JOINED);
    texts[100] = canary(2);
    texts.remove(5);
    trial.sync(&texts, COUNTED);
    trial
}

fn erase(trial: &Trial, ids: &[&str]) -> Result<Erasure> {
    Erase::new(CONTACTS, &trial.path, ids.iter().copied()).run()
}

/// Returns everything that a mirror contains about others than the person.
pub(super) fn of_others(trial: &Trial, syncs: u64) -> Vec<Vec<String>> {
    let others = |texts: Vec<String>| -> Vec<String> {
        let is_other = |text: &String| !text.contains("canary");
        texts.into_iter().filter(is_other).collect()
    };
    let changes = trial.mirror().changes(CONTACTS, &SyncPoint::Sync(0));
    let mut all: Vec<_> = (1..=syncs).map(|sync| others(trial.as_of(sync))).collect();
    all.push(others(trial.current()));
    all.push(others(texts(changes.unwrap())));
    all
}

#[test]
fn nothing_of_an_erased_record_is_left_in_any_file() {
    let trial = lived_in();
    assert!(traces(&trial, &TRACES).len() >= 3);
    let erased = erase(&trial, &["canary-id"]).unwrap();
    assert_eq!((erased.records, erased.versions, erased.changes), (1, 3, 4));
    assert_eq!(traces(&trial, &TRACES), [""; 0]);
    trial.sync(&contacts(0..300), COUNTED);
    assert_eq!(traces(&trial, &TRACES), [""; 0]);
    // The report contains the key until every copy has applied it.
    assert!(!traces(&trial, &[b"canary-id"]).is_empty());
    let at = SyncPoint::Sync(trial.mirror().syncs(CONTACTS).unwrap().len() as u64);
    acknowledge(&trial.path, CONTACTS, &at).unwrap();
    assert_eq!(traces(&trial, &[b"canary"]), [""; 0]);
    assert!(trial.mirror().verify().unwrap().matches);
    assert_eq!(trial.mirror().syncs(CONTACTS).unwrap()[5].changes.erased, 1);
}

#[test]
fn an_erasure_does_not_change_other_records_versions_and_changes() {
    for announced in [true, false] {
        let trial = lived_in();
        let before = of_others(&trial, 5);
        let erase = Erase::new(CONTACTS, &trial.path, ["canary-id"]).with_announced(announced);
        erase.run().unwrap();
        assert_eq!(of_others(&trial, 5), before);
        let verified = trial.mirror().verify().unwrap();
        assert_eq!(verified.differences, [""; 0]);
        let syncs = trial.mirror().syncs(CONTACTS).unwrap();
        let since: Vec<u64> = syncs.iter().map(|sync| sync.erased_since).collect();
        assert_eq!(since[..5], [0, 1, 1, 0, 1]);
        assert_eq!(syncs.len(), if announced { 6 } else { 5 });
        // The next sync continues from there. If the service still lists the person, that is an insert.
        let mut texts = contacts((0..300).filter(|id| *id != 5));
        texts[6] = contact(7, 1);
        texts.push(canary(2));
        assert_eq!(trial.step(&texts, COUNTED), "insert canary-id");
        assert!(trial.mirror().verify().unwrap().matches);
    }
}

#[test]
fn an_erasure_is_reported_after_the_bookmark_of_the_last_sync() {
    let trial = lived_in();
    let noted = trial.mirror().syncs(CONTACTS).unwrap().pop().unwrap();
    let erased = erase(&trial, &["canary-id", "c-9"]).unwrap();
    let since = SyncPoint::Bookmark(crate::Bookmark::parse(&noted.bookmark).unwrap());
    let changes = trial.mirror().changes(CONTACTS, &since).unwrap();
    assert_eq!(changes.bookmark(), erased.bookmark);
    let batches = trial.mirror().changes(CONTACTS, &since).unwrap();
    let batches = batches.into_batches(Default::default()).unwrap();
    let rows = batches.map(|batch| batch.unwrap().num_rows());
    assert_eq!(rows.sum::<usize>(), 2);
    let changes: Vec<Change> = changes
        .map(|change| change.unwrap().to().unwrap())
        .collect();
    let shown = changes
        .iter()
        .map(|one| format!("{} {} {}", one.op, one.key, one.record));
    let shown: Vec<String> = shown.collect();
    assert_eq!(shown, ["erased c-9 null", "erased canary-id null"]);
    let view = "SELECT group_concat(_op || _key || (_record IS NULL)) FROM contacts_changes WHERE _generation = 6";
    assert_eq!(trial.ask::<String>(view), "erasedc-91,erasedcanary-id1");
}

#[test]
fn an_unknown_id_is_refused_and_changes_nothing() {
    let trial = lived_in();
    let before = fs::read(&trial.path).unwrap();
    let unknown = erase(&trial, &["canary-id", "c-900"]);
    let words = "records: |1 of the 2 ids|\"c-900\"|nothing was erased";
    fails(unknown, ErrorKind::InvalidArgument, words);
    fails(erase(&trial, &[]), ErrorKind::InvalidArgument, "records: ");
    assert!(fs::read(&trial.path).unwrap() == before);
    // A record that was erased before is not an error while its report is kept.
    let first = erase(&trial, &["canary-id"]).unwrap();
    let again = erase(&trial, &["canary-id", "c-9"]).unwrap();
    assert_eq!((first.records, again.records), (1, 1));
    let nothing = erase(&trial, &["canary-id"]).unwrap();
    assert_eq!((nothing.records, nothing.bookmark), (0, again.bookmark));
}

#[test]
fn records_without_an_id_are_not_erased_one_by_one() {
    let trial = Trial::new();
    trial.sync(
        &["{\"name\":\"a\"}".to_owned(), "{\"name\":\"b\"}".to_owned()],
        COUNTED,
    );
    let key: String = trial.ask("SELECT key FROM record LIMIT 1");
    for id in [key.as_str(), "c-1"] {
        let refused = erase(&trial, &[id]);
        let words = "records without an id|forget the whole list";
        fails(refused, ErrorKind::InvalidArgument, words);
    }
    assert_eq!(trial.current().len(), 2);
}

#[test]
fn receipts_lose_the_values_of_an_erased_record() {
    let trial = Trial::of(0..20);
    let mut texts = contacts(0..20);
    texts.push(
        "{\"id\":\"canary-id\",\"score\":\"canary-score\",\"status\":\"canary-status\"}".into(),
    );
    texts.push("{\"id\":\"c-30\",\"firstName\":[1]}".into());
    let claim = Claim::acquire(&trial.path).unwrap();
    let mut staging = Staging::begin(&claim, &trial.sync, &config("c")).unwrap();
    staging.take(&[], &records(&texts)).unwrap();
    let mut scan = receipt(texts.len(), COUNTED);
    let values = [("canary-status".to_owned(), 1), ("other".to_owned(), 2)].into();
    scan.unknown_values = [("/status".to_owned(), values)].into();
    staging.commit(scan, SystemTime::now()).unwrap();
    drop((staging, claim));
    let about = "SELECT group_concat(about) FROM sync";
    assert!(trial.ask::<String>(about).contains("canary"));
    erase(&trial, &["canary-id"]).unwrap();
    let about = trial.ask::<String>(about);
    assert!(!about.contains("canary"), "{about}");
    assert!(about.contains("\"other\":2") && about.contains("\"c-30\""));
    assert!(trial.mirror().verify().unwrap().matches);
}

#[test]
fn a_reader_keeps_what_it_reads_and_the_next_sync_finishes_the_erasure() {
    let trial = lived_in();
    let mut reader = trial
        .mirror()
        .records(CONTACTS, Some(&SyncPoint::Sync(2)))
        .unwrap();
    reader.next().unwrap().unwrap();
    let writing = crate::forget::Writing::open(&trial.path).unwrap();
    writing.connection.busy_timeout(Duration::ZERO).unwrap();
    let erase = Erase::new(CONTACTS, &trial.path, ["canary-id"]);
    let words = "no longer in the mirror|close it and repeat the command";
    fails(erase.run_in(writing), ErrorKind::Busy, words);
    // The reader still returns all records as of its start.
    assert_eq!(reader.collect::<Result<Vec<_>>>().unwrap().len(), 300);
    assert!(!traces(&trial, &TRACES).is_empty());
    assert_eq!(erase.run().unwrap().records, 0);
    assert_eq!(traces(&trial, &TRACES), [""; 0]);
}

#[test]
fn a_copy_follows_erasures_by_their_reports() {
    let trial = lived_in();
    let mut copy = BTreeMap::new();
    let changes = trial
        .mirror()
        .changes(CONTACTS, &SyncPoint::Sync(0))
        .unwrap();
    apply(&mut copy, changes);
    erase(&trial, &["canary-id", "c-3"]).unwrap();
    let changes = trial
        .mirror()
        .changes(CONTACTS, &SyncPoint::Sync(5))
        .unwrap();
    assert_eq!(apply(&mut copy, changes), ["c-3", "canary-id"]);
    assert_eq!(copy.len(), trial.current().len());
}

#[test]
fn history_that_keep_removes_is_gone_from_the_files() {
    let mut trial = lived_in();
    trial.sync(&contacts(0..300), COUNTED);
    trial.sync.keep = Some(Duration::ZERO);
    for _ in 0..2 {
        trial.sync(&contacts(0..300), COUNTED);
    }
    assert_eq!(traces(&trial, &[b"canary"]), [""; 0]);
}

/// Returns the end of the sync of a day.
fn day(day: u64) -> Option<SystemTime> {
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs((20_000 + day) * 86_400))
}

#[test]
fn deleted_records_are_erased_after_their_time_and_only_they() {
    let mut trial = Trial::new();
    trial.sync.keep_deleted = Some(Duration::from_secs(3 * 86_400));
    let mut texts = contacts(0..50);
    texts.push(canary(0));
    for number in 0..7 {
        trial.ended = day(number);
        match number {
            1 => drop(texts.pop()),
            2 => drop(texts.remove(49)),
            // The record is in the list again.
            3 => texts.push(contact(49, 1)),
            _ => {}
        }
        let receipt = trial.sync(&texts, COUNTED);
        let records = receipt.removed.map(|removed| removed.records);
        // The delete of day 1 is three days old.
        assert_eq!(records, (number == 4).then_some(1), "day {number}");
        assert_eq!(receipt.changes.erased, u64::from(number == 4));
        assert_eq!(
            traces(&trial, &TRACES).is_empty(),
            number >= 4,
            "day {number}"
        );
        assert!(trial.mirror().verify().unwrap().matches);
    }
    assert_eq!(trial.as_of(1), contacts(0..50));
    assert_eq!(
        trial.changes(4),
        [("erased".to_owned(), "canary-id".to_owned())]
    );
    let deletes = ops(&trial.changes(0), "delete");
    assert_eq!(deletes, ["c-49"]);
}

#[test]
fn a_dry_run_reports_the_changes_and_writes_no_byte() {
    let mut trial = Trial::of(0..300);
    let before = fs::read(&trial.path).unwrap();
    trial.sync.dry_run = true;
    let mut texts = contacts(10..300);
    texts.push(canary(0));
    texts[0] = contact(10, 1);
    let receipt = trial.sync(&texts, COUNTED);
    let counts = receipt.changes;
    assert_eq!((counts.insert, counts.update, counts.delete), (1, 1, 10));
    assert!(receipt.dry_run && receipt.bookmark.is_empty());
    let withheld = trial.sync(&contacts(200..300), COUNTED).shortfall;
    assert!(withheld.unwrap().contains("a sync would delete nothing"));
    assert!(fs::read(&trial.path).unwrap() == before);
    assert_eq!(traces(&trial, &[b"canary"]), [""; 0]);
    trial.sync.dry_run = false;
    let receipt = trial.sync(&texts, COUNTED);
    assert_eq!((receipt.generation, receipt.changes), (2, counts));
}

#[test]
fn a_record_that_is_kept_out_is_not_stored_again() {
    let trial = lived_in();
    let erase = Erase::new(CONTACTS, &trial.path, ["canary-id"]);
    let erase = erase.with_announced(false).with_keep_out(true);
    erase.run().unwrap();
    let mut texts = contacts(0..300);
    texts.push(canary(3));
    let receipt = trial.sync(&texts, COUNTED);
    assert_eq!((receipt.kept_out, receipt.changes.insert), (1, 1));
    assert_eq!(traces(&trial, &[b"canary"]), [""; 0]);
    assert_eq!(trial.current().len(), 300);
    assert!(trial.mirror().verify().unwrap().matches);
    // Repeating the erasure is not an error. Other lists are not affected.
    assert_eq!(erase.run().unwrap().records, 0);
    let digest: String =
        trial.ask("SELECT list || substr(digest, 1, 3) || length(digest) FROM kept_out");
    assert_eq!(digest, "contactsh1:35");
}

/// Runs syncs of records that come and go at random, with `keep_deleted` of three days. Returns the number of erasures
/// after another delete of the same record.
fn come_and_go(seed: u64) -> usize {
    let (mut trial, mut random) = (Trial::new(), fastrand::Rng::with_seed(seed));
    trial.sync.keep_deleted = Some(Duration::from_secs(3 * 86_400));
    trial.sync.max_deletes = "100%".parse().unwrap();
    let (mut deleted, mut deletes) = (BTreeMap::<String, u64>::new(), BTreeMap::new());
    let (mut there, mut repeated) = ([true; 8], 0);
    for number in 1..=40 {
        trial.ended = day(number);
        for is_there in &mut there {
            *is_there ^= random.u32(..3) == 0;
        }
        let ids = (0..12).filter(|id| there.get(*id as usize).is_none_or(|is_there| *is_there));
        let proof = [COUNTED, COUNTED, JOINED, None][random.usize(..4)];
        let receipt = trial.sync(&contacts(ids), proof);
        let changes = trial.changes(number - 1);
        for key in ops(&changes, "insert") {
            deleted.remove(&key);
        }
        for key in ops(&changes, "delete") {
            *deletes.entry(key.clone()).or_insert(0) += 1;
            deleted.insert(key, number);
        }
        let (old, young) = deleted.into_iter().partition(|(_, at)| at + 3 <= number);
        deleted = young;
        let old: BTreeMap<String, u64> = old;
        let keys: Vec<String> = old.into_keys().collect();
        repeated += keys
            .iter()
            .filter_map(|key| deletes.remove(key))
            .filter(|count| *count > 1)
            .count();
        assert_eq!(ops(&changes, "erased"), keys, "seed {seed}, sync {number}");
        assert_eq!(receipt.changes.erased, keys.len() as u64);
        let verified = trial.mirror().verify().unwrap();
        assert_eq!(verified.differences, [""; 0], "seed {seed}, sync {number}");
    }
    repeated
}

#[test]
fn records_that_come_and_go_are_erased_some_time_after_their_last_delete() {
    assert!((0..rounds(10)).map(come_and_go).sum::<usize>() > 0);
}

#[test]
fn an_unknown_id_is_named_also_if_nothing_was_kept_out_before() {
    let trial = Trial::of(0..20);
    let unknown = Erase::new(CONTACTS, &trial.path, ["nobody"]).with_keep_out(true);
    fails(
        unknown.run(),
        ErrorKind::InvalidArgument,
        "records: |\"nobody\"",
    );
}

#[test]
fn one_record_without_an_id_is_found_wherever_it_is() {
    for at in [0, 10, 20] {
        let trial = Trial::new();
        let mut texts = contacts(0..20);
        texts.insert(at, "{\"name\":\"a\"}".to_owned());
        trial.sync(&texts, COUNTED);
        let refused = erase(&trial, &["c-3"]);
        fails(refused, ErrorKind::InvalidArgument, "records without an id");
    }
}

#[test]
fn an_unannounced_erasure_can_be_repeated_until_the_file_is_clean() {
    let trial = lived_in();
    let mut reader = trial.mirror().records(CONTACTS, None).unwrap();
    reader.next().unwrap().unwrap();
    let erase = Erase::new(CONTACTS, &trial.path, ["canary-id"]).with_announced(false);
    let writing = crate::forget::Writing::open(&trial.path).unwrap();
    writing.connection.busy_timeout(Duration::ZERO).unwrap();
    fails(erase.run_in(writing), ErrorKind::Busy, "repeat the command");
    drop(reader);
    assert_eq!(erase.run().unwrap().records, 0);
    assert_eq!(traces(&trial, &[b"canary"]), [""; 0]);
    fails(erase.run(), ErrorKind::InvalidArgument, "\"canary-id\"");
}

#[test]
fn a_reader_at_its_end_does_not_prevent_an_erasure() {
    let trial = lived_in();
    let mut reader = trial.mirror().records(CONTACTS, None).unwrap();
    assert_eq!(reader.by_ref().count(), 300);
    let writing = crate::forget::Writing::open(&trial.path).unwrap();
    writing.connection.busy_timeout(Duration::ZERO).unwrap();
    let erase = Erase::new(CONTACTS, &trial.path, ["canary-id"]);
    assert_eq!(erase.run_in(writing).unwrap().records, 1);
    assert!(reader.next().is_none());
}

#[test]
fn numbers_stay_usable_if_a_forget_ends_before_its_mark() {
    let trial = Trial::of(0..20);
    let lock = trial.path.with_extension("db.lock");
    let before = fs::read(&lock).unwrap();
    crate::forget(&trial.path, CONTACTS).unwrap();
    fs::write(&lock, before).unwrap();
    trial.sync(&contacts(0..20), COUNTED);
    trial.sync(&contacts(0..19), COUNTED);
    assert_eq!(ops(&trial.changes(2), "delete"), ["c-19"]);
}

#[test]
fn a_hashed_id_is_found_as_number_and_as_text_and_named_as_given() {
    let mut trial = Trial::new();
    trial.sync.scan.hash = vec!["id".to_owned()];
    let mut builder = Client::builder();
    let builder = builder.base_url("http://127.0.0.1:9").client_id("c");
    let builder = builder
        .client_secret("canary-canary")
        .hash_key("k".repeat(32));
    let config = builder.config().unwrap();
    let key = config.require_hash_key().unwrap();
    let of = |id: &str| format!("{{\"id\":\"{}\"}}", key.digest(id));
    let texts = ["7", "\"7\"", "8"].map(of);
    let sync = || {
        let claim = Claim::acquire(&trial.path).unwrap();
        let mut staging = Staging::begin(&claim, &trial.sync, &config).unwrap();
        staging.take(&[], &records(&texts)).unwrap();
        let receipt = staging.commit(receipt(3, COUNTED), SystemTime::now());
        receipt.unwrap().kept_out
    };
    sync();
    let erase = |id: &str, keep_out| {
        let erase = Erase::new(CONTACTS, &trial.path, [id]).with_keep_out(keep_out);
        erase.with_hash_key(Ok(Some(key.clone()))).run()
    };
    fails(
        erase("nobody", false),
        ErrorKind::InvalidArgument,
        "first is \"nobody\"",
    );
    assert_eq!(erase("7", false).unwrap().records, 2);
    assert_eq!(
        (sync(), erase("7", true).unwrap().records, sync()),
        (0, 2, 2)
    );
}

#[test]
fn a_key_that_cannot_be_read_is_an_error_only_if_it_is_needed() {
    let trial = Trial::of(0..20);
    let unreadable = Err(talentdata_core::Error::config("hash_key: too short"));
    let erase = Erase::new(CONTACTS, &trial.path, ["c-3"]).with_hash_key(unreadable);
    assert_eq!(erase.run().unwrap().records, 1);
}

#[test]
fn the_history_counts_the_records_of_an_erasure_and_no_requests() {
    let trial = Trial::new();
    let claim = Claim::acquire(&trial.path).unwrap();
    let mut staging = Staging::begin(&claim, &trial.sync, &config("c")).unwrap();
    staging.take(&[], &records(&contacts(0..9))).unwrap();
    let mut scan = receipt(9, COUNTED);
    scan.requests = 5;
    staging.commit(scan, SystemTime::now()).unwrap();
    drop((staging, claim));
    erase(&trial, &["c-3", "c-4"]).unwrap();
    let history = trial.mirror().history(CONTACTS).unwrap();
    let numbers = history.iter().map(|sync| (sync.erased, sync.requests));
    assert_eq!(numbers.collect::<Vec<_>>(), [(0, 5), (2, 0)]);
}

#[test]
fn an_acknowledged_sync_that_does_not_exist_is_an_error_of_that_argument() {
    let trial = Trial::of(0..20);
    let unknown = acknowledge(&trial.path, CONTACTS, &SyncPoint::Sync(99));
    fails(
        unknown,
        ErrorKind::InvalidArgument,
        "up_to: there is no sync 99",
    );
}
