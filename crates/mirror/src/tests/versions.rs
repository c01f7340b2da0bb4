//! Files of earlier versions, which are kept in `versions/`, can be read, and the next sync upgrades them.

use super::*;
use std::fs;

/// Writes a file of this version to the path in `TALENTDATA_TEST_MIRROR`, to be kept for later versions.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else {
        return;
    };
    let mut trial = Trial::new();
    (trial.path, trial.sync.path) = (path.clone().into(), path.into());
    trial.sync(&contacts(0..40), COUNTED);
    trial.sync(&first(), JOINED);
    let mut second = first();
    second.remove(3);
    second[8] = contact(80, 4);
    trial.sync(&second, JOINED);
    trial.sync(&second[..30], None);
    trial.sync.keep = Some(Duration::from_nanos(1));
    trial.sync(&second, COUNTED);
    trial.sync.keep = None;
    let mut third = second;
    third.truncate(38);
    third.push(contact(81, 1));
    trial.sync(&third, JOINED);
    trial.sync.resource = ListName::Pools;
    trial.sync(&contacts(0..5), COUNTED);
    let connection = rusqlite::Connection::open(&trial.path).unwrap();
    connection
        .execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
}

/// Records that SQLite's own functions read in different ways.
fn first() -> Vec<String> {
    let mut all = contacts(5..40);
    all.extend([
        r#"{"id":"c-50","Gr\u00f6\u00dfe":"XL","say \"hi\"":1}"#.to_owned(),
        r#"{"id":"c-51","twice":1,"twice":2,"nul":"a\u0000b","half":"x\ud83d"}"#.to_owned(),
        r#"{"id":"c-52","big":18446744073709551615,"yes":true,"tags":["\u00e9",null]}"#.to_owned(),
    ]);
    all
}

/// Returns a mirror that is a copy of a kept file.
pub(super) fn kept(version: u8) -> Trial {
    let trial = Trial::new();
    let kept = format!("src/tests/versions/{version}.db");
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join(kept),
        &trial.path,
    )
    .unwrap();
    trial
}

/// Returns the records and changes that the kept files have.
fn history(trial: &Trial) -> [Vec<String>; 4] {
    let mirror = trial.mirror();
    let syncs = mirror.syncs(CONTACTS).unwrap();
    let fifth = syncs.iter().find(|sync| sync.generation == 5).unwrap();
    // Version 5 has no bookmarks.
    let fifth = fifth.bookmark.parse().unwrap_or(SyncPoint::Sync(5));
    let changes = mirror.changes(CONTACTS, &fifth).unwrap();
    let changes = changes.filter_map(|change| {
        let change = change.unwrap().as_str().to_owned();
        change.contains("\"generation\":6").then_some(change)
    });
    let pools = trial.mirror().records(ListName::Pools, None).unwrap();
    [
        trial.as_of(5),
        trial.as_of(6),
        changes.collect(),
        texts(pools),
    ]
}

#[test]
fn kept_files_of_every_version_are_read_and_not_modified() {
    let mut all = Vec::new();
    for version in [5, 6] {
        let trial = kept(version);
        let before = fs::read(&trial.path).unwrap();
        assert!(trial.mirror().verify().unwrap().matches, "{version}");
        let history = history(&trial);
        assert_eq!(history.each_ref().map(Vec::len), [37, 38, 1, 5]);
        all.push(history.map(|texts| {
            texts
                .join("\n")
                .replace(|letter: char| letter.is_ascii_digit(), "0")
        }));
        assert_eq!(fs::read(&trial.path).unwrap(), before);
        assert_eq!(trial.ask::<u8>("PRAGMA user_version"), version);
    }
    assert_eq!(all[0], all[1]);
}

#[test]
fn a_damaged_file_of_an_older_version_is_refused() {
    for damage in [
        "UPDATE sync SET about = replace(about, '1', '2') WHERE number = 6",
        "UPDATE record SET text = replace(text, 'A0', 'A1') WHERE key = 'c-7'",
    ] {
        let trial = kept(5);
        let connection = rusqlite::Connection::open(&trial.path).unwrap();
        assert!(connection.execute(damage, []).unwrap() > 0);
        drop(connection);
        assert!(!trial.mirror().verify().unwrap().matches, "{damage}");
        let sync = trial.sync_late(&[], &contacts(0..50), COUNTED);
        fails(sync, ErrorKind::Io, "damaged");
        assert_eq!(trial.ask::<u8>("PRAGMA user_version"), 5);
    }
}

#[test]
fn the_next_sync_upgrades_an_older_file_and_loses_nothing() {
    let (trial, new) = (kept(5), Trial::of(0..3));
    let before = history(&trial);
    let identity = |trial: &Trial, of: &str| trial.ask::<String>(&format!("SELECT {of}"));
    let receipt = trial.sync(&contacts(0..50), COUNTED);
    assert_eq!(receipt.generation, 7);
    assert_eq!(history(&trial), before);
    assert_eq!(trial.current(), contacts(0..50));
    assert!(trial.mirror().verify().unwrap().matches);
    assert_eq!(trial.ask::<u8>("PRAGMA user_version"), 6);
    let tables = "group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema WHERE type <> 'view' ORDER BY name)";
    assert_eq!(identity(&trial, tables), identity(&new, tables));
    // The views of the other list are brought up to date as well.
    let views =
        "group_concat(sql, ';') FROM sqlite_schema WHERE type = 'view' AND name LIKE 'pools%'";
    assert!(!identity(&trial, views).contains("->>"));
    let lists = "group_concat(name || last || length(epoch), ' ') FROM list";
    assert_eq!(identity(&trial, lists), "contacts716 pools116");
    let ids = "count(DISTINCT id) || min(length(id)) FROM (SELECT id FROM sync UNION ALL SELECT id FROM mirror)";
    assert_eq!(identity(&trial, ids), "516");
}

#[test]
fn forgetting_a_list_of_an_older_file_keeps_the_other() {
    let trial = kept(5);
    let [.., pools] = history(&trial);
    crate::forget(&trial.path, CONTACTS).unwrap();
    assert_eq!(
        texts(trial.mirror().records(ListName::Pools, None).unwrap()),
        pools
    );
    assert!(trial.mirror().verify().unwrap().matches);
    assert_eq!(
        trial.ask::<i64>("SELECT last FROM list WHERE name = 'contacts'"),
        6
    );
}
