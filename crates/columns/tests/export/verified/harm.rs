//! Ten thousand files made from good ones: dropped, repeated, exchanged and altered records and bytes.

use super::super::Service;
use super::{RECORDS, findings, written};
use std::fs;
use talentdata_columns::verify::{Finding, verify};
use talentdata_core::ErrorKind;

/// How many files are made from good ones.
const ROUNDS: usize = 10_000;

/// Makes another file out of a good one; says what has to be found in JSON Lines.
fn harm(rng: &mut fastrand::Rng, good: &[u8], lines: bool) -> (Vec<u8>, Option<Finding>) {
    let bytes = |rng: &mut fastrand::Rng| {
        let (start, length) = (rng.usize(..good.len()), rng.usize(1..50));
        (start, (start + length).min(good.len()))
    };
    if !lines || rng.u8(..4) == 0 {
        let (start, end) = bytes(rng);
        let (before, rest) = good.split_at(start);
        let (piece, after) = rest.split_at(end - start);
        let harmed = match rng.u8(..4) {
            0 => [before, after].concat(),
            1 => [before, piece, piece, after].concat(),
            2 => before.to_vec(),
            _ => {
                let mut altered = good.to_vec();
                altered[start] ^= 1 << rng.u8(..8);
                altered
            }
        };
        return (harmed, None);
    }
    let mut rows: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    let at = rng.usize(..rows.len());
    let other = (at + rng.usize(1..rows.len())) % rows.len();
    let altered = rows[at].to_ascii_uppercase();
    let finding = match rng.u8(..5) {
        0 => {
            rows.remove(at);
            Finding::Missing
        }
        1 => {
            rows.insert(other, rows[at]);
            Finding::Repeated
        }
        2 => {
            rows.swap(at, other);
            Finding::Order
        }
        3 => {
            rows[at] = rows[other];
            Finding::Altered
        }
        _ => {
            rows[at] = &altered;
            Finding::Altered
        }
    };
    (rows.concat(), Some(finding))
}

#[tokio::test]
async fn ten_thousand_of_ten_thousand_harmed_files_are_found() {
    let service = Service::start(RECORDS);
    let directory = tempfile::tempdir().unwrap();
    let written = written(&service, directory.path()).await;
    let harmed = directory.path().join("harmed");
    let mut rng = fastrand::Rng::with_seed(12);
    let mut found = 0;
    for round in 0..ROUNDS {
        let (_, receipt, good) = &written[round % written.len()];
        let lines = receipt.written.as_ref().unwrap().format == "jsonl";
        let (bytes, finding) = harm(&mut rng, good, lines);
        // Nothing happens where what is repeated or exchanged is equal.
        assert!(bytes != *good, "{round}");
        fs::write(&harmed, &bytes).unwrap();
        let verification = verify(&harmed, receipt).unwrap();
        let named = finding.is_none_or(|finding| findings(&verification).contains(&finding));
        let error = verification
            .to_result(&harmed)
            .map_err(|error| error.kind());
        found += usize::from(!verification.holds && named && error == Err(ErrorKind::Mismatch));
    }
    assert_eq!(found, ROUNDS);
}
