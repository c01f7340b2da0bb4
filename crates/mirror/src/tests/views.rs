//! The views of records that the functions of SQLite read in different ways. Every version of SQLite shows the same.

use super::*;

/// Records with values that versions of SQLite read in different ways, and what the column `value` shows for them.
pub(super) const ODD: [(&str, &str); 16] = [
    (
        r#"{"id":"1","value":"\u00e9\ud83d\ude00\n\\u0000"}"#,
        "'é😀\n\\u0000'",
    ),
    (r#"{"id":"2","value":"a\u0000b"}"#, r"'a\u0000b'"),
    (r#"{"id":"3","value":"\ud83d"}"#, r"'\ud83d'"),
    (
        "{\"id\":\"4\",\"value\":\"\u{fffd}\\uDE00\"}",
        "'\u{fffd}\\uDE00'",
    ),
    (r#"{"id":"5","value":"\ud7ff"}"#, "'\u{d7ff}'"),
    (
        r#"{"id":"6","value":9223372036854775807}"#,
        "9223372036854775807",
    ),
    (
        r#"{"id":"7","value":-9223372036854775808}"#,
        "-9223372036854775808",
    ),
    (
        r#"{"id":"8","value":9223372036854775808}"#,
        "'9223372036854775808'",
    ),
    (r#"{"id":"9","value":1.5e3}"#, "1500.0"),
    (r#"{"id":"10","value":true}"#, "1"),
    (r#"{"id":"11","value":1,"x":2,"value":"last"}"#, "'last'"),
    (r#"{"id":"12","v\u0061lue":"escaped"}"#, "'escaped'"),
    (
        r#"{"id":"13","value":{"a":["\u0000",12345678901234567890]}}"#,
        r#"'{"a":["\u0000",12345678901234567890]}'"#,
    ),
    (r#"{"id":"14","value":null}"#, "NULL"),
    (r#"{"id":"15","value":""}"#, "''"),
    (r#"{"id":"16"}"#, "NULL"),
];

/// Names of fields that need escapes in a path. The value of each field is the index of its name.
pub(super) const NAMES: [&str; 16] = [
    "Größe",
    "a.b",
    "a[0]",
    "it's",
    "say \"hi\"",
    "back\\slash",
    "$",
    "",
    "tab\tbed",
    "\u{f8ff}",
    "#-1",
    "%s",
    "日本",
    "x'--",
    "{list}",
    "( two  spaces )",
];

/// Returns the records of [`ODD`], and records with [`NAMES`], unescaped and as Python escapes them.
fn odd() -> Vec<String> {
    let mut texts: Vec<String> = ODD.iter().map(|(text, _)| (*text).to_owned()).collect();
    for (id, is_ascii) in [("plain", false), ("ascii", true)] {
        let escaped = |letter: char| {
            let mut units = [0; 2];
            let units = letter.encode_utf16(&mut units).iter();
            units.map(|unit| format!("\\u{unit:04x}")).collect()
        };
        let spelled = |letter: char| {
            if is_ascii && !letter.is_ascii() {
                escaped(letter)
            } else {
                letter.to_string()
            }
        };
        let member = |(place, name): (usize, &&str)| {
            let name = serde_json::to_string(name).unwrap();
            let name: String = name.chars().map(spelled).collect();
            format!(",{name}:{place}")
        };
        let members: String = NAMES.iter().enumerate().map(member).collect();
        texts.push(format!("{{\"id\":\"{id}\"{members},\"nul\\u0000\":1}}"));
    }
    texts
}

/// Returns the records of [`odd`] with one more field, so that all are updated.
fn seen() -> Vec<String> {
    let seen = |text: String| text.replace("\"id\":", "\"seen\":1,\"id\":");
    odd().into_iter().map(seen).collect()
}

fn sync_odd(trial: &Trial) {
    trial.sync(&odd(), COUNTED);
    trial.sync(&seen(), COUNTED);
}

/// Returns queries that show all of these records, each with its answer.
pub(super) fn questions() -> Vec<(String, String)> {
    let one = |view: &str, what: &str, id: &str| {
        format!("SELECT {what} FROM {view} WHERE _key = '{id}' ORDER BY 1 LIMIT 1")
    };
    let mut all = Vec::new();
    for view in ["contacts", "contacts_changes"] {
        for (number, (text, shown)) in ODD.iter().enumerate() {
            let id = (number + 1).to_string();
            all.push((one(view, "quote(value)", &id), (*shown).to_owned()));
            if view == "contacts" {
                let text = text.replace("\"id\":", "\"seen\":1,\"id\":");
                all.push((one(view, "_record", &id), text));
            }
        }
        for (place, name) in NAMES.iter().enumerate() {
            let column = format!("\"{}\"", name.replace('"', "\"\""));
            all.push((one(view, &column, "plain"), place.to_string()));
            all.push((one(view, &column, "ascii"), place.to_string()));
        }
    }
    all
}

/// The child of `cargo xtask test sqlites`: creates a mirror, and next to it queries with their answers as JSON. Then
/// each line of its input takes a sync one step further.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else {
        return;
    };
    let mut trial = Trial::new();
    (trial.path, trial.sync.path) = (path.clone().into(), path.into());
    // Another user reads it.
    trial.sync.mode = "0644".parse().unwrap();
    sync_odd(&trial);
    let questions = serde_json::to_string(&questions()).unwrap();
    std::fs::write(trial.path.with_extension("json"), questions).unwrap();
    // The previous step is complete when this process waits for the next line.
    let mut steps = std::io::stdin().lines();
    let mut next = || {
        println!("\n> done");
        steps.next().is_some()
    };
    let mut texts = seen();
    while next() {
        let claim = Claim::acquire(&trial.path).unwrap();
        let mut staging = Staging::begin(&claim, &trial.sync, &config("c")).unwrap();
        texts.push(contact(texts.len() as u64, 0));
        staging.take(&[], &records(&texts)).unwrap();
        next();
        let receipt = receipt(texts.len(), COUNTED);
        staging.commit(receipt, SystemTime::now()).unwrap();
        next();
    }
}

#[test]
fn views_show_every_value_of_records_with_unusual_notation() {
    let trial = Trial::new();
    sync_odd(&trial);
    for (question, answer) in questions() {
        let shown = format!("SELECT CAST(({question}) AS TEXT)");
        assert_eq!(trial.ask::<String>(&shown), answer, "{question}");
    }
    assert!(trial.mirror().verify().unwrap().matches);
}

/// The permissions of a mirror, of its log with the index, and of its lock.
#[cfg(unix)]
fn modes(trial: &Trial) -> [u32; 4] {
    use std::os::unix::fs::PermissionsExt;
    ["db", "db-wal", "db-shm", "db.lock"].map(|ending| {
        let found = std::fs::metadata(trial.path.with_extension(ending)).unwrap();
        found.permissions().mode() & 0o777
    })
}

#[cfg(unix)]
#[test]
fn a_new_mirror_is_its_owners_alone_unless_a_mode_shares_it() {
    assert_eq!(modes(&Trial::of(0..3)), [0o600; 4]);
    let mut trial = Trial::new();
    trial.sync.mode = "0664".parse().unwrap();
    trial.sync(&contacts(0..3), COUNTED);
    assert_eq!(modes(&trial), [0o664; 4]);
    // An existing mirror keeps its permissions.
    trial.sync.mode = "0600".parse().unwrap();
    trial.sync(&contacts(0..4), COUNTED);
    assert_eq!(modes(&trial), [0o664; 4]);
}

#[cfg(target_os = "linux")]
#[test]
fn temporary_files_of_a_sync_are_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let trial = Trial::new();
    let claim = Claim::acquire(&trial.path).unwrap();
    let mut staging = Staging::begin(&claim, &trial.sync, &config("c")).unwrap();
    let small = "PRAGMA temp.cache_size = 10";
    staging.connection.execute_batch(small).unwrap();
    let records = records(&contacts(0..5_000));
    staging.take(&[], &records).unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let open = open.filter_map(|entry| {
        let path = entry.unwrap().path();
        let target = std::fs::read_link(&path).ok()?;
        // SQLite's temporary file has no name, or one with this part if the file system needs a name.
        let target = target.to_string_lossy();
        let is_temporary = target.contains("/#") || target.contains("etilqs_");
        // Another test may close its file at the same time.
        let found = std::fs::metadata(path).ok().filter(|_| is_temporary)?;
        Some(found.permissions().mode() & 0o777)
    });
    let found: Vec<u32> = open.collect();
    assert!(!found.is_empty());
    assert!(found.iter().all(|mode| *mode == 0o600), "{found:?}");
}

#[cfg(unix)]
#[test]
fn the_log_has_the_permissions_of_the_mirror() {
    use std::os::unix::fs::PermissionsExt;
    let trial = Trial::of(0..3);
    let log = trial.path.with_extension("db-wal");
    assert_eq!(std::fs::metadata(&log).unwrap().len(), 0);
    // After a change of the mode, the next sync gives it to all files, also to recreated ones.
    for (mode, is_removed) in [(0o640, false), (0o604, true)] {
        std::fs::set_permissions(&trial.path, PermissionsExt::from_mode(mode)).unwrap();
        if is_removed {
            std::fs::remove_file(trial.path.with_extension("db-shm")).unwrap();
        }
        trial.sync(&contacts(0..4), COUNTED);
        assert_eq!(modes(&trial), [mode; 4]);
        crate::forget(&trial.path, CONTACTS).unwrap();
        assert_eq!(
            (modes(&trial), std::fs::metadata(&log).unwrap().len()),
            ([mode; 4], 0)
        );
    }
}
