//! Kept data and written files are compared with their hashes, so that damage is found.

use super::{PLAIN_AND_ENCODED, Service, export, fails, place, run, run_pages, work};
use std::fs;
use talentdata_columns::export::{Format, KeptWork};
use talentdata_columns::verify::{read_receipt, verify};
use talentdata_core::ErrorKind;
use talentdata_core::scan::Receipt;

/// Returns copies of the contents: some truncated, and a thousand with one flipped bit.
fn harmed(good: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let cuts = [0, 1, 10, good.len() / 2, good.len() - 1].into_iter();
    let mut rng = fastrand::Rng::with_seed(7);
    let flips = (0..1000).map(move |_| {
        let mut flipped = good.to_vec();
        flipped[rng.usize(..good.len())] ^= 1 << rng.u8(..8);
        flipped
    });
    cuts.map(|length| good[..length].to_vec()).chain(flips)
}

#[tokio::test]
async fn all_formats_have_the_same_records_and_every_damage_is_found() {
    let service = Service::start(30);
    let mut digests = Vec::new();
    for format in Format::ALL {
        let (_directory, path) = place();
        let receipt = run(&export(format, &path), &service.client).await.unwrap();
        let good = fs::read(&path).unwrap();
        verify(&path, &receipt).unwrap().to_result(&path).unwrap();
        let written = receipt.written.clone().unwrap();
        assert_eq!((written.bytes, written.records), (good.len() as u64, 30));
        assert_eq!(written.file.as_deref(), Some("out"));
        digests.push(written.records_digest);
        for harmed in harmed(&good) {
            fs::write(&path, &harmed).unwrap();
            let found = verify(&path, &receipt).unwrap();
            let error = found.to_result(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            let message = format!("{} bytes instead of {}", harmed.len(), good.len());
            let is_cut = harmed.len() < good.len();
            assert_eq!(error.message().contains(&message), is_cut, "{error}");
        }
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]));
}

/// Damages a file of an interrupted export again and again. The damage is found. The file stays unchanged until the
/// first page of an export that begins again has arrived.
#[tokio::test]
async fn damaged_work_files_never_change_the_exported_records() {
    let service = Service::start(1_500);
    for format in PLAIN_AND_ENCODED {
        let (_directory, path) = place();
        let mut export = export(format, &path);
        run_pages(&export, &service.client, 14).await.unwrap_err();
        for (name, words) in [
            ("data", "records of an earlier export are still kept in"),
            ("ids", "records of an earlier export are still kept in"),
            (
                "checkpoint",
                "the work that an earlier export kept in|out.part was not changed",
            ),
        ] {
            let file = work(&path, name);
            let good = fs::read(&file).unwrap();
            let older = String::from_utf8_lossy(&good).replace("checkpoint 10", "checkpoint 9");
            let older = (name == "checkpoint").then(|| older.into_bytes());
            for harmed in older.into_iter().chain(harmed(&good)) {
                fs::write(&file, &harmed).unwrap();
                export.kept = KeptWork::Resume;
                // It is stopped before it sends anything.
                let stopped = export.run(&service.client, std::future::ready(()), |_| {});
                fails(stopped.await, ErrorKind::Cancelled, words);
                if name == "checkpoint" {
                    export.kept = KeptWork::Refuse;
                    let refused = run(&export, &service.client).await;
                    let words = "damaged or of another version|set the option restart";
                    fails(refused, ErrorKind::InvalidArgument, words);
                }
                assert!(fs::read(&file).unwrap() == harmed, "{format} {name}");
            }
            fs::write(&file, good).unwrap();
        }
        export.kept = KeptWork::Resume;
        let receipt = run(&export, &service.client).await.unwrap();
        assert_eq!((receipt.resumed, receipt.records), (1, 1_500));
        assert!(verify(&path, &receipt).unwrap().matches);
    }
}

#[tokio::test]
async fn invalid_and_contradictory_receipts_are_refused() {
    let service = Service::start(30);
    let (directory, path) = place();
    let receipt = run(&export(Format::Jsonl, &path), &service.client).await;
    let (receipt, scanned) = (receipt.unwrap(), Receipt::default());
    fails(verify(&path, &scanned), ErrorKind::InvalidArgument, "");
    let nowhere = directory.path().join("nowhere");
    for path in [nowhere.as_path(), directory.path()] {
        fails(verify(path, &receipt), ErrorKind::Path, "");
    }
    let file = directory.path().join("receipt.json");
    let [one, scan] = [&receipt, &scanned].map(|one| serde_json::to_string(one).unwrap());
    let several = format!(" [{scan},{one}]");
    for (text, path, refusal) in [
        ("", &path, Some("not a receipt")),
        ("{}", &path, Some("not a receipt")),
        ("\u{0}garbage", &path, Some("not a receipt")),
        ("[]", &path, Some("no files")),
        (&format!("[{scan},{scan}]"), &path, Some("no files")),
        (&one, &path, None),
        (&several, &path, None),
        // With a single receipt, the file may have another name by now.
        (&one, &nowhere, None),
        (&several, &nowhere, Some("only of out")),
    ] {
        fs::write(&file, text).unwrap();
        let read = read_receipt(&file, path);
        match refusal {
            None => assert_eq!(read.unwrap(), receipt),
            Some(says) => fails(read, ErrorKind::InvalidArgument, says),
        }
    }
}
