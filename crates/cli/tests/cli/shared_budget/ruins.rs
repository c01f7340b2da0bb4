//! The file of the budget in every state that it may be found in: never a crash or a hang, and whoever goes on alone says so.

use super::Company;
use crate::ruins::{IN_THE_WAY, REPLACED, Ruin};
use serde_json::Value;
use std::fs::{self, File};
use std::path::PathBuf;
use talentdata_sandbox::limit::Policy;

impl Company {
    /// The file of the budget, which the client that ran before has left.
    fn file(&self) -> PathBuf {
        self.receipt("pools", self.export("pools"));
        let entries = fs::read_dir(self.directory.path().join("talentdata")).unwrap();
        let files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        let [file] = files.as_slice() else {
            panic!("{files:?}");
        };
        file.clone()
    }

    /// What the receipt of an export says about the budget.
    fn budget_used_now(&self) -> Value {
        let receipt = self.receipt("contacts", self.export("contacts"));
        assert_eq!(receipt["rate_limited"], 0, "{receipt}");
        receipt["budget"].clone()
    }
}

fn company() -> Company {
    Company::new(Policy::SlidingLog, 300)
}

#[test]
fn what_is_not_its_file_is_replaced() {
    let more: [Ruin; 2] = [
        ("a part", |file| {
            let file = File::options().write(true).open(file).unwrap();
            file.set_len(5_000).unwrap();
        }),
        ("garbage", |file| {
            fs::write(file, vec![0xA5; 600_000]).unwrap()
        }),
    ];
    for (what, ruin) in REPLACED.into_iter().chain(more) {
        let company = company();
        let file = company.file();
        ruin(&file);
        let budget = company.budget_used_now();
        assert_eq!(budget["unreachable_reason"], Value::Null, "{what}: {budget}");
        assert!(fs::symlink_metadata(&file).unwrap().is_file(), "{what}");
    }
}

#[test]
fn where_no_file_can_be_a_client_goes_on_alone_and_says_so() {
    for (what, ruin) in IN_THE_WAY {
        let company = company();
        ruin(&company.file());
        let budget = company.budget_used_now();
        assert!(budget["unreachable_reason"].is_string(), "{what}: {budget}");
        assert!(budget["seconds_unreachable"].as_f64().unwrap() > 0.0, "{what}");
        assert_eq!(budget["max_members"], 1, "{what}");
    }
}

/// As if a process were stopped at the worst moment: the others leave the file to it.
#[test]
fn who_is_stopped_with_the_lock_holds_up_nobody() {
    let company = company();
    let path = company.file();
    let held = File::options().read(true).write(true).open(&path).unwrap();
    held.lock().unwrap();
    let budget = company.budget_used_now();
    assert_eq!(budget["unreachable_reason"], Value::Null, "{budget}");
    drop(held);
    assert_eq!(company.budget_used_now()["unreachable_reason"], Value::Null);
}

#[test]
fn a_file_that_is_removed_again_and_again_does_no_harm() {
    let company = company();
    let path = company.file();
    let scan = company.export("contacts");
    while fs::metadata(company.receipt_path("contacts")).is_err() {
        let _ = fs::remove_file(&path);
    }
    for _ in 0..200 {
        let _ = fs::remove_file(&path);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    company.receipt("contacts", scan);
}
