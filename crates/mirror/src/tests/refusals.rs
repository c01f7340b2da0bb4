//! Paths that are not mirrors stay unchanged, and errors of mirrors that cannot be written name the solution.

use super::*;
use std::fs;

#[test]
fn directories_and_other_files_are_not_modified() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("folder")).unwrap();
    fs::write(path("text"), "hello").unwrap();
    fs::write(path("long"), vec![b'x'; 100_000]).unwrap();
    let newer = "PRAGMA application_id = 0x54446d72; PRAGMA user_version = 9";
    for (name, pragmas) in [
        ("other.db", "PRAGMA journal_mode = WAL"),
        ("newer.db", newer),
    ] {
        let connection = rusqlite::Connection::open(path(name)).unwrap();
        let table = "CREATE TABLE t (x); INSERT INTO t VALUES (1)";
        connection
            .execute_batch(&format!("{pragmas}; {table}"))
            .unwrap();
    }
    for (name, words) in [
        ("folder", "is a directory or a device; a mirror is one file"),
        ("text", "is not a mirror, and was not modified"),
        ("long", "is not a mirror, and was not modified"),
        ("other.db", "is not a mirror, and was not modified"),
        ("newer.db", "version 9"),
    ] {
        let before = fs::read(path(name)).ok();
        fails(Claim::acquire(&path(name)), ErrorKind::Path, words);
        fails(Mirror::open(path(name)), ErrorKind::Path, words);
        assert_eq!(fs::read(path(name)).ok(), before);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 5);
    let nameless = Claim::acquire(Path::new(""));
    fails(nameless, ErrorKind::Path, "give the path of a mirror");
    let nowhere = Mirror::open(path("nowhere"));
    fails(nowhere, ErrorKind::Path, "is not a mirror");
}

#[test]
fn one_sync_writes_at_a_time_and_a_failed_one_leaves_no_file() {
    let trial = Trial::new();
    let claim = Claim::acquire(&trial.path).unwrap();
    let second = Claim::acquire(&trial.path);
    fails(second, ErrorKind::Busy, "another sync is writing");
    claim.abandon();
    assert!(!trial.path.exists());
    trial.sync(&contacts(0..3), COUNTED);
    Claim::acquire(&trial.path).unwrap().abandon();
    assert_eq!(trial.current().len(), 3);
    // A planted link with the name of the lock is not followed, and a planted pipe does not block.
    #[cfg(unix)]
    for plant in ["ln -s elsewhere", "mkfifo"] {
        let plant = format!("rm mirror.db.lock; {plant} mirror.db.lock");
        let mut shell = std::process::Command::new("sh");
        let directory = trial.path.parent().unwrap();
        let planted = shell.args(["-c", &plant]).current_dir(directory).status();
        assert!(planted.unwrap().success());
        let refused = Claim::acquire(&trial.path);
        fails(refused, ErrorKind::Path, "no lock file");
        assert!(!directory.join("elsewhere").exists());
    }
}

#[test]
fn a_mirror_belongs_to_one_service_one_client_and_one_set_of_filters() {
    let trial = Trial::of(0..3);
    let claim = Claim::acquire(&trial.path).unwrap();
    let pools = Sync::new(ListName::Pools, &trial.path);
    let mut filtered = trial.sync.clone();
    filtered.scan.arguments = Arguments::default().with("region", "eu");
    let mut less = trial.sync.clone();
    less.scan.drop = vec!["email".into()];
    let client_id = "client_id: the mirror belongs to http://127.0.0.1:9";
    for (sync, client, words) in [
        (&trial.sync, "other", client_id),
        (&pools, "other", client_id),
        (
            &filtered,
            "c",
            "parameters: the mirror has contacts with {}",
        ),
        (
            &less,
            "c",
            "parameters: the mirror has contacts with {}|dropped fields",
        ),
    ] {
        let refused = Staging::begin(&claim, sync, &config(client)).map_err(at(&trial.path));
        let words = format!("{words}|sync into another file");
        fails(refused, ErrorKind::Mismatch, &words);
    }
    assert!(Staging::begin(&claim, &pools, &config("c")).is_ok());
}

#[test]
fn a_locked_file_and_a_full_disk_do_not_change_the_mirror() {
    let trial = Trial::of(0..300);
    let claim = Claim::acquire(&trial.path).unwrap();
    let attempt = |prepare: &str, kind: ErrorKind, words: &str| {
        let mut staging = Staging::begin(&claim, &trial.sync, &config("c")).unwrap();
        staging.take(&[], &records(&contacts(100..900))).unwrap();
        staging.connection.execute_batch(prepare).unwrap();
        let committed = staging.commit(receipt(800, None), SystemTime::now());
        fails(committed.map_err(at(&trial.path)), kind, words);
    };
    let other = rusqlite::Connection::open(&trial.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = "PRAGMA busy_timeout = 1";
    attempt(busy, ErrorKind::Busy, "another program has locked the file");
    other.execute_batch("ROLLBACK").unwrap();
    // SQLite reports a full disk in the same way.
    let full = ErrorKind::StorageFull;
    attempt("PRAGMA max_page_count = 1", full, "the disk, or the disk");
    assert_eq!(trial.current(), contacts(0..300));
    assert!(trial.mirror().verify().unwrap().matches);
}

#[cfg(unix)]
#[test]
fn a_mirror_in_a_read_only_directory_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let trial = Trial::of(0..3);
    let directory = trial.path.parent().unwrap();
    fs::remove_file(directory.join("mirror.db.lock")).unwrap();
    let mode = |mode| fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let read = trial.current();
    fs::set_permissions(&trial.path, fs::Permissions::from_mode(0o400)).unwrap();
    assert_eq!(trial.current(), read);
    let claim = Claim::acquire(&trial.path);
    mode(0o700);
    assert_eq!(read, contacts(0..3));
    // Root may write everywhere.
    if !rustix::process::geteuid().is_root() {
        fails(claim, ErrorKind::Path, "permissions");
    }
}

#[test]
fn a_sync_without_shared_memory_is_refused_with_advice() {
    let trial = Trial::of(0..30);
    let shared = trial.path.with_extension("db-shm");
    fs::remove_file(&shared).unwrap();
    fs::create_dir(&shared).unwrap();
    let sync = trial.sync_late(&[], &contacts(0..40), COUNTED);
    fails(sync, ErrorKind::Path, "shared memory");
    fs::remove_dir(&shared).unwrap();
    assert_eq!(trial.current(), contacts(0..30));
    assert!(trial.mirror().verify().unwrap().matches);
}

/// The child of a test: a sync whose files may not grow beyond the limit that the parent set.
#[cfg(unix)]
#[test]
fn limited_child() {
    let Ok(path) = std::env::var(PATH) else {
        return;
    };
    let mut trial = Trial::new();
    trial.path = path.into();
    let failed = trial.sync_late(&[], &contacts(0..5_000), None);
    println!("<{}>", failed.err().unwrap().message());
}

#[cfg(unix)]
#[test]
fn a_file_size_limit_does_not_change_the_mirror() {
    let trial = Trial::of(0..300);
    for blocks in [100, 200, 400, 800] {
        // If the signal is ignored, a write beyond the limit fails as on a full disk.
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" --exact tests::refusals::limited_child --nocapture"
        );
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .arg(std::env::current_exe().unwrap())
            .env(PATH, &trial.path)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_said = told.contains("check the disk") || told.contains("the disk, or the disk");
        assert!(is_said, "{blocks}: {told}");
        assert_eq!(trial.current(), contacts(0..300));
        assert!(trial.mirror().verify().unwrap().matches);
    }
    let next = trial.sync(&contacts(0..5_000), COUNTED);
    assert_eq!(next.generation, 2);
}

/// SQLite names the reason only in its own log.
#[cfg(unix)]
#[test]
fn the_reason_of_the_system_is_in_the_message() {
    let trial = Trial::of(0..3);
    let plant = |name| {
        let path = trial.path.with_file_name(name);
        let _ = fs::remove_file(&path);
        std::os::unix::fs::symlink(name, path).unwrap();
    };
    let reason = "Too many levels of symbolic links";
    plant("mirror.db-shm");
    let opened = Claim::acquire(&trial.path).unwrap().open();
    fails(opened.map_err(at(&trial.path)), ErrorKind::Path, reason);
    plant("mirror.db");
    fails(Mirror::open(&trial.path), ErrorKind::Path, reason);
}
