//! The file of the shared token in every state that it may be found in: never an error or a hang, at worst a token more.

use super::{Company, TOKEN, ends_well};
use crate::support::run;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use talentdata_sandbox::Options;

/// What is done to the file at a path, by name.
type Ruin = (&'static str, fn(&Path));

#[test]
fn what_is_not_its_file_is_replaced() {
    let ruins: [Ruin; 5] = [
        ("nothing", |file| fs::remove_file(file).unwrap()),
        ("garbage", |file| fs::write(file, [0xA5; 200]).unwrap()),
        ("emptiness", |file| fs::write(file, "").unwrap()),
        ("a file that others may read", |file| {
            fs::set_permissions(file, Permissions::from_mode(0o640)).unwrap();
        }),
        ("a link", |file| {
            let target = file.with_file_name("other");
            fs::rename(file, &target).unwrap();
            symlink(&target, file).unwrap();
        }),
    ];
    for (what, ruin) in ruins {
        let company = Company::new(Options::default());
        company.call_well();
        let file = company.file().unwrap();
        ruin(&file);
        company.call_well();
        company.call_well();
        assert_eq!(company.count(TOKEN), 2, "{what}");
        let facts = fs::symlink_metadata(&file).unwrap();
        assert!(facts.is_file() && facts.permissions().mode() & 0o777 == 0o600);
    }
}

#[test]
fn where_no_file_can_be_each_process_has_its_own_token_and_says_so_once() {
    let ruins: [Ruin; 3] = [
        ("a directory in its place", |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        }),
        ("a file in the place of its directory", |file| {
            let directory = file.parent().unwrap();
            fs::remove_dir_all(directory).unwrap();
            fs::write(directory, "").unwrap();
        }),
        ("a directory that others may write to", |file| {
            fs::remove_dir_all(file.parent().unwrap()).unwrap();
            fs::create_dir(file.parent().unwrap()).unwrap();
            let all = Permissions::from_mode(0o777);
            fs::set_permissions(file.parent().unwrap(), all).unwrap();
        }),
    ];
    for (what, ruin) in ruins {
        let company = Company::new(Options::default());
        company.call_well();
        ruin(&company.file().unwrap());
        for posts in [2, 3] {
            let ended = run(&mut company.command("host", &["permissions", "-v"]));
            assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
            let told = ended
                .stderr
                .matches("token cache of this host cannot be used");
            assert_eq!(told.count(), 1, "{what}: {ended:?}");
            assert_eq!(company.count(TOKEN), posts, "{what}");
        }
    }
}

/// As if a process were stopped at the worst moment.
#[test]
fn a_lock_that_is_never_given_back_holds_up_nobody() {
    let company = Company::new(Options::default());
    company.call_well();
    let file = company.file().unwrap();
    let lock = file.with_extension("lock");
    let held = File::options().read(true).write(true).open(lock).unwrap();
    held.lock().unwrap();
    // A token that is there needs no lock.
    company.call_well();
    assert_eq!(company.count(TOKEN), 1);
    fs::remove_file(&file).unwrap();
    [company.call(), company.call()]
        .into_iter()
        .for_each(ends_well);
    assert_eq!(company.count(TOKEN), 2);
    held.unlock().unwrap();
}
