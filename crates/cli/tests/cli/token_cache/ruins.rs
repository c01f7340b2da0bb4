//! The file of the shared token in every state that it may be found in: never an error or a hang, at worst a token more.

use super::{Company, TOKEN, ends_well};
use crate::ruins::{IN_THE_WAY, REPLACED, Ruin};
use crate::support::run;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use talentdata_sandbox::Options;

#[test]
fn what_is_not_its_file_is_replaced() {
    let more: [Ruin; 2] = [
        ("garbage", |file| fs::write(file, [0xA5; 200]).unwrap()),
        ("a file that others may read", |file| {
            fs::set_permissions(file, Permissions::from_mode(0o640)).unwrap();
        }),
    ];
    for (what, ruin) in REPLACED.into_iter().chain(more) {
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
    for (what, ruin) in IN_THE_WAY {
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
    let held = File::options().read(true).write(true).open(&file).unwrap();
    held.lock().unwrap();
    // A token that is there needs no lock.
    company.call_well();
    assert_eq!(company.count(TOKEN), 1);
    held.set_len(0).unwrap();
    [company.call(), company.call()]
        .into_iter()
        .for_each(ends_well);
    assert_eq!(company.count(TOKEN), 2);
    held.unlock().unwrap();
}
