//! Random histories of mirrors that are restored, copied, forgotten and created again. A reader that uses bookmarks
//! loses no change, and never applies changes of another history.

use super::*;
use std::fs;
use talentdata_columns::arrow::TableOptions;

/// The bookmarks of the syncs of a list in a file, and the first sync after which all changes are kept.
#[derive(Clone, Default)]
struct Line {
    syncs: Vec<String>,
    kept: usize,
}

/// A copy of the list, and the sync that was stored with it.
#[derive(Default)]
struct Warehouse {
    copy: BTreeMap<String, String>,
    noted: Option<String>,
    /// True if the next changes are asked for by number: until a mirror refuses its own last number.
    by_number: bool,
}

/// The outcomes of requests for changes.
#[derive(Debug, Default)]
struct Counts {
    applied: u32,
    refused: u32,
}

impl Warehouse {
    /// Loads the changes after the stored sync, or else the whole list.
    fn load(&mut self, trial: &Trial, line: &Line, counts: &mut Counts) {
        let mirror = trial.mirror();
        let changes = self.noted.as_ref().map(|noted| {
            let found = line.syncs.iter().position(|sync| sync == noted);
            let is_there = found.is_some_and(|at| at >= line.kept);
            let at = if self.by_number {
                number(noted)
            } else {
                noted.parse().unwrap()
            };
            (mirror.changes(CONTACTS, &at), is_there, at)
        });
        match changes {
            Some((Ok(changes), is_there, at)) => {
                assert!(is_there, "{at:?} is of another history");
                self.noted = Some(changes.bookmark().to_owned());
                apply(&mut self.copy, changes);
                counts.applied += 1;
            }
            other => {
                if let Some((Err(error), is_there, at)) = other {
                    let is_bookmark = matches!(at, SyncPoint::Bookmark(_));
                    assert!(!(is_there && is_bookmark), "{error}");
                    let is_new = error.message().contains("yet, the last one");
                    let kinds = [ErrorKind::Mismatch, ErrorKind::InvalidArgument];
                    assert_eq!(error.kind(), kinds[usize::from(is_new)]);
                    let message = error.message();
                    let words = ["since: ", "load the list"];
                    assert!(words.iter().all(|word| message.contains(word)), "{error}");
                    counts.refused += 1;
                }
                let list = mirror.records(CONTACTS, None).unwrap();
                self.noted = Some(list.bookmark().to_owned());
                self.copy = keyed(texts(list));
            }
        }
        assert_eq!(self.copy, keyed(trial.current()));
        assert_eq!(self.noted.as_ref(), line.syncs.last());
        let last = number(self.noted.as_ref().unwrap());
        self.by_number &= mirror.changes(CONTACTS, &last).is_ok();
    }
}

fn keyed(texts: Vec<String>) -> BTreeMap<String, String> {
    let key = |text: &str| crate::digest::key(&RawRecord::parse(text).unwrap()).0;
    texts.into_iter().map(|text| (key(&text), text)).collect()
}

/// Returns the number in a bookmark.
fn number(noted: &str) -> SyncPoint {
    noted.rsplit(':').next().unwrap().parse().unwrap()
}

/// Runs one story: paths with mirrors of one list, copies of their files, one warehouse that reads any of them by
/// bookmarks, and one for each path that reads it by numbers.
fn tell(seed: u64, counts: &mut [Counts; 2]) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut list: BTreeMap<u64, u64> = (0..8).map(|id| (id, 0)).collect();
    let mut places: Vec<(Trial, Line, Warehouse)> = (0..2)
        .map(|_| {
            let by_number = true;
            let local = Warehouse {
                by_number,
                ..Warehouse::default()
            };
            (Trial::new(), Line::default(), local)
        })
        .collect();
    let mut copies: Vec<(Vec<u8>, Line)> = Vec::new();
    let (mut warehouse, mut next) = (Warehouse::default(), 8);
    for _ in 0..25 {
        let (trial, line, local) = &mut places[random.usize(..2)];
        match random.u32(..16) {
            0..6 => {
                for _ in 0..random.usize(1..4) {
                    let id = random.u64(..next);
                    match random.u32(..3) {
                        0 => drop(list.remove(&id)),
                        1 => *list.entry(id).or_default() += 1,
                        _ => drop(list.insert(next, 0)),
                    }
                    next += 1;
                }
                let texts: Vec<String> = list
                    .iter()
                    .map(|(id, version)| contact(*id, *version))
                    .collect();
                trial.sync.max_deletes = crate::MaxDeletes::Share(1.0);
                trial.sync.keep = (random.u32(..6) == 0).then_some(Duration::ZERO);
                let receipt = trial.sync(&texts, COUNTED);
                line.syncs.push(receipt.bookmark);
                if trial.sync.keep.is_some() {
                    line.kept = line.kept.max(line.syncs.len().saturating_sub(2));
                }
            }
            6..11 if !line.syncs.is_empty() => {
                warehouse.load(trial, line, &mut counts[0]);
                local.load(trial, line, &mut counts[usize::from(local.by_number)]);
            }
            11..13 if trial.path.exists() => {
                copies.push((fs::read(&trial.path).unwrap(), line.clone()));
            }
            13..15 if !copies.is_empty() => {
                let (bytes, of) = &copies[random.usize(..copies.len())];
                // The copy overwrites the file, or replaces it with another one.
                if random.bool() {
                    fs::write(&trial.path, bytes).unwrap();
                } else {
                    let beside = trial.path.with_extension("copy");
                    fs::write(&beside, bytes).unwrap();
                    fs::rename(beside, &trial.path).unwrap();
                }
                *line = of.clone();
            }
            15 if !line.syncs.is_empty() => {
                if random.bool() {
                    crate::forget(&trial.path, CONTACTS).unwrap()
                } else {
                    fs::remove_file(&trial.path).unwrap()
                }
                *line = Line::default();
            }
            _ => {}
        }
    }
}

#[test]
fn a_warehouse_loses_no_change_if_mirrors_are_copied_and_restored() {
    let rounds = rounds(200);
    let mut counts = [Counts::default(), Counts::default()];
    for seed in 0..rounds {
        println!("story {seed}");
        tell(seed, &mut counts);
    }
    println!(
        "{rounds} stories: by bookmarks {:?}, by numbers {:?}",
        counts[0], counts[1]
    );
    for Counts { applied, refused } in counts {
        assert!(u64::from(applied) > rounds && u64::from(refused) > rounds / 4);
    }
}

/// Checks that changes after a sync of another history are refused with these words.
fn refused(trial: &Trial, since: &str, words: &str) {
    let changes = trial.mirror().changes(CONTACTS, &since.parse().unwrap());
    fails(changes, ErrorKind::Mismatch, &format!("since: |{words}"));
}

#[test]
fn each_reason_for_unavailable_changes_has_its_own_message() {
    let mut trial = Trial::of(0..20);
    let earlier = fs::read(&trial.path).unwrap();
    let first = trial.sync(&contacts(0..21), COUNTED).bookmark;
    let second = trial.sync(&contacts(0..22), COUNTED).bookmark;
    let changes = trial.mirror().changes(CONTACTS, &SyncPoint::Sync(7));
    let words = "since: |no sync 7 of contacts yet, the last one is sync 3|give the bookmark";
    fails(changes, ErrorKind::InvalidArgument, words);
    let other = Trial::of(0..20).mirror().syncs(CONTACTS).unwrap();
    refused(
        &trial,
        &other[0].bookmark,
        "of another mirror|load the list as of its last sync",
    );
    fs::write(&trial.path, &earlier).unwrap();
    refused(
        &trial,
        &second,
        "a later sync than 1|restored from an earlier copy",
    );
    let forked = trial.sync(&contacts(0..23), COUNTED);
    refused(
        &trial,
        &first,
        "another sync 2|restored from an earlier copy",
    );
    for number in ["1", "2"] {
        let words = "two syncs of contacts may have the number|give the bookmark";
        refused(&trial, number, words);
    }
    trial.sync(&contacts(0..23), COUNTED);
    trial.sync.keep = Some(Duration::ZERO);
    trial.sync(&contacts(0..23), COUNTED);
    refused(
        &trial,
        &forked.bookmark,
        "after sync 2 are kept, only those after sync 3|load the list",
    );
    let last = trial.mirror().syncs(CONTACTS).unwrap().pop().unwrap();
    assert_eq!(last.generation, 4);
    crate::forget(&trial.path, CONTACTS).unwrap();
    trial.sync(&contacts(0..23), COUNTED);
    refused(&trial, &last.bookmark, "before contacts was forgotten");
    refused(
        &trial,
        "4",
        "before contacts was forgotten and synced again, from sync 5 on",
    );
    assert_eq!(trial.changes(0).len(), 23);
}

#[test]
fn a_number_is_enough_if_the_mirror_was_never_copied() {
    let trial = Trial::of(0..20);
    for count in 21..24 {
        trial.sync(&contacts(0..count), COUNTED);
        assert_eq!(trial.changes(count - 20).len(), 1);
    }
    // A copy without its mark continues with other syncs.
    let copy = Trial::new();
    fs::copy(&trial.path, &copy.path).unwrap();
    copy.sync(&contacts(0..30), COUNTED);
    for number in ["4", "5"] {
        refused(&copy, number, "two syncs of contacts may have the number");
    }
    let fourth = &copy.mirror().syncs(CONTACTS).unwrap()[3].bookmark;
    let changes = copy.mirror().changes(CONTACTS, &fourth.parse().unwrap());
    assert_eq!(changes.unwrap().count(), 7);
    // The time is after a sync of the original, and before the copy continued.
    let read = SystemTime::now();
    let copy = Trial::new();
    fs::copy(&trial.path, &copy.path).unwrap();
    copy.sync(&contacts(0..30), COUNTED);
    refused(
        &copy,
        &talentdata_core::internal::utc(read),
        "not in this mirror",
    );
    // A new mirror replaces another one.
    fs::remove_file(&trial.path).unwrap();
    trial.sync(&contacts(0..20), COUNTED);
    refused(&trial, "1", "two syncs of contacts may have the number");
    assert_eq!(trial.changes(0).len(), 20);
}

#[test]
fn a_stream_without_changes_has_the_bookmark_of_the_last_sync() {
    let trial = Trial::of(0..20);
    let second = trial.sync(&contacts(0..20), COUNTED);
    let changes = trial
        .mirror()
        .changes(CONTACTS, &SyncPoint::Sync(1))
        .unwrap();
    assert_eq!(changes.bookmark(), second.bookmark);
    let batches = changes
        .into_batches(TableOptions::default().with_batch_rows(10))
        .unwrap();
    let metadata = batches.schema().metadata.clone();
    assert_eq!(metadata["talentdata.bookmark"], second.bookmark);
    assert_eq!(batches.count(), 0);
}
