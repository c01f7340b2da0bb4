//! A check finds one changed byte anywhere in the file, or the byte changes no answer.

use super::*;
use std::fs;
use talentdata_columns::arrow::TableOptions;

/// Returns everything that can be read from a mirror, or an error.
fn answers(mirror: &Mirror) -> Result<Vec<String>> {
    let list = CONTACTS;
    let batches =
        (mirror.records(list, None)?).into_batches(TableOptions::default().with_batch_rows(10))?;
    let (schema, syncs) = (batches.schema(), mirror.syncs(list)?);
    let mut all = vec![format!("{:?} {syncs:?}", mirror.resources()?)];
    // The order of metadata is random.
    all.push(format!(
        "{:?}",
        schema.metadata().iter().collect::<BTreeMap<_, _>>()
    ));
    for field in schema.fields() {
        let metadata: BTreeMap<_, _> = field.metadata().iter().collect();
        let (name, of) = (field.name(), field.data_type());
        all.push(format!("{name} {of} {metadata:?}"));
    }
    let numbers = syncs
        .iter()
        .map(|sync| Some(SyncPoint::Sync(sync.generation)));
    for at in numbers.chain([None]) {
        let records = mirror.records(list, at.as_ref())?;
        all.push(format!("{:?}", records.collect::<Result<Vec<_>>>()?));
    }
    let changes = mirror.changes(list, &SyncPoint::Sync(0))?;
    all.push(format!("{:?}", changes.collect::<Result<Vec<_>>>()?));
    Ok(all)
}

#[test]
fn a_flipped_byte_is_found_or_changes_no_answer() {
    let trial = Trial::of(0..120);
    let mut second = contacts((10..125).rev());
    second[7] = contact(second.len() as u64, 3);
    trial.sync(&second, JOINED);
    trial.sync(&second[..100], None);
    let intact = fs::read(&trial.path).unwrap();
    let expected = answers(&trial.mirror()).unwrap();
    assert!(trial.mirror().verify().unwrap().matches);
    let mut random = fastrand::Rng::with_seed(11);
    let (mut found, mut harmless) = (0, 0);
    for _ in 0..1_000 {
        let mut bytes = intact.clone();
        let at = random.usize(..bytes.len());
        bytes[at] ^= 1 << random.u8(..8);
        fs::write(&trial.path, &bytes).unwrap();
        let read = Mirror::open(&trial.path);
        let read = read.and_then(|mirror| Ok((answers(&mirror)?, mirror.verify()?)));
        match read {
            Ok((answers, verified)) if verified.matches => {
                assert!(
                    answers == expected,
                    "byte {at} changes an answer and is not found"
                );
                harmless += 1;
            }
            Ok(_) => found += 1,
            // The message names the file, and contains no control characters.
            Err(error) => {
                let message = error.message();
                assert!(error.kind() != ErrorKind::Decode, "byte {at}: {error}");
                assert!(!message.contains(char::is_control), "byte {at}: {error}");
                found += 1;
            }
        }
    }
    println!(
        "{found} found, {harmless} harmless, of a file of {} bytes",
        intact.len()
    );
    assert!(found > 200);
    fs::write(&trial.path, &intact).unwrap();
    assert!(trial.mirror().verify().unwrap().matches);
}

#[test]
fn a_sync_does_not_build_on_a_changed_record() {
    let trial = Trial::of(0..50);
    for damage in [
        "UPDATE record SET text = replace(text, 'A0', 'A1') WHERE key = 'c-7'",
        "DELETE FROM record WHERE key = 'c-7'",
        "UPDATE record SET position = position + 1 WHERE key = 'c-7'",
    ] {
        let before = fs::read(&trial.path).unwrap();
        let connection = rusqlite::Connection::open(&trial.path).unwrap();
        connection.execute_batch(damage).unwrap();
        // Closing the last connection writes the change to the file.
        drop(connection);
        let sync = trial.sync_late(&[], &contacts(0..50), COUNTED);
        fails(sync, ErrorKind::Io, "damaged");
        assert!(!trial.mirror().verify().unwrap().matches);
        fs::write(&trial.path, before).unwrap();
    }
}

#[test]
fn a_change_in_any_table_is_found() {
    let trial = Trial::of(0..5);
    trial.sync(&[r#"{"id":"c-1","a":1,"a":2}"#.to_owned()], COUNTED);
    let intact = fs::read(&trial.path).unwrap();
    for damage in [
        "UPDATE mirror SET id = 'another'",
        "DELETE FROM mirror",
        "INSERT INTO mirror SELECT * FROM mirror",
        "UPDATE list SET epoch = 'another'",
        "UPDATE list SET last = 1",
        "DELETE FROM list",
        "INSERT INTO kept_out VALUES ('contacts', 'h1:0')",
        "INSERT INTO kept_out VALUES ('pools', 'h1:0')",
        "UPDATE sync SET id = 'another' WHERE number = 1",
        "DELETE FROM sync WHERE number = 2",
        "UPDATE record SET plain = NULL WHERE plain IS NOT NULL",
        "UPDATE record SET plain = '{}' WHERE plain IS NULL",
        "UPDATE change SET key = 'another' WHERE seq = 1",
    ] {
        let connection = rusqlite::Connection::open(&trial.path).unwrap();
        assert!(connection.execute(damage, []).unwrap() > 0, "{damage}");
        drop(connection);
        assert!(!trial.mirror().verify().unwrap().matches, "{damage}");
        fs::write(&trial.path, &intact).unwrap();
        assert!(trial.mirror().verify().unwrap().matches);
    }
    let connection = rusqlite::Connection::open(&trial.path).unwrap();
    for wrong in [
        "UPDATE record SET position = 'x'",
        "UPDATE record SET last = 'x'",
        "UPDATE record SET text = x'00'",
        "UPDATE list SET last = 'x'",
        "UPDATE change SET record = NULL",
    ] {
        let refused = connection.execute(wrong, []).unwrap_err();
        assert!(refused.to_string().contains("CHECK"), "{wrong}: {refused}");
    }
}
