//! Scans at the limits of what they remember, and of what a service may say: pages arrive in order.

use super::super::super::Doubt;
use super::super::super::stitch::{Stitcher, Verdict};
use super::*;

/// Reads a list in order; `change` happens once so many records were delivered.
fn read(
    list: &mut List,
    resume: Option<&Position>,
    after: usize,
    mut change: impl FnMut(&mut List),
) -> (Vec<u64>, Vec<Doubt>) {
    let mut sequence: Sequence<Vec<u64>> = Sequence::new(Consistency::Complete, resume, AHEAD);
    let mut delivered = Vec::new();
    let mut changed = false;
    for _ in 0..10_000 {
        let (ticket, offset) = sequence.want().expect("it waits for nothing");
        let slice = list.page(offset, 100);
        let from = (offset as usize).min(list.ids.len());
        let page = list.ids[from..from + slice.ids.len()].to_vec();
        sequence.arrive(ticket, Ok((page, slice)));
        while let Some(joined) = sequence.join().unwrap() {
            delivered.extend(joined.fresh.iter().map(|index| joined.page[*index]));
            if !changed && delivered.len() >= after {
                changed = true;
                change(list);
            }
            if joined.end {
                return (delivered, sequence.stitcher.doubts);
            }
        }
    }
    panic!("no end")
}

fn assert_nothing_lost(list: &List, delivered: &[u64]) {
    let seen: HashSet<u64> = delivered.iter().copied().collect();
    let lost = list.stable().into_iter().find(|id| !seen.contains(id));
    assert_eq!(lost, None);
}

#[test]
fn what_little_is_left_of_the_records_remembered_is_found() {
    // 100 pages are remembered at least; all of them but a few hundred go at once.
    for left in [60, 150, 900] {
        let mut list = List::new(60_000);
        let (delivered, doubts) = read(&mut list, None, 50_000, |list| {
            list.remove(36_000 + left, 14_000 - left);
        });
        assert_complete(&list, &delivered, &format!("{left} left"));
        assert_eq!(doubts, [], "{left} left");
    }
}

#[test]
fn when_all_records_remembered_are_gone_some_come_again_and_it_is_said() {
    let mut list = List::new(120_000);
    let (delivered, doubts) = read(&mut list, None, 100_000, |list| list.remove(70_000, 32_000));
    assert_nothing_lost(&list, &delivered);
    assert_eq!(doubts, [Doubt::MovedTooFar]);
    // No more come again than were remembered.
    assert!(delivered.len() < 120_000 + 30_000, "{}", delivered.len());
}

#[test]
fn a_resumed_scan_that_recognises_nothing_says_so() {
    let mut list = List::new(10_000);
    let mut position = Position::default();
    let ids = (0..6_000_u64).map(|id| Identity::of(&id.to_le_bytes(), true));
    position.note(5_999, ids);
    list.remove(900, 5_150);
    let (delivered, doubts) = read(&mut list, Some(&position), usize::MAX, |_| ());
    let seen: HashSet<u64> = delivered.iter().copied().chain(0..900).collect();
    assert!(list.stable().iter().all(|id| seen.contains(id)));
    assert_eq!(doubts, [Doubt::MovedTooFar]);
}

#[test]
fn what_a_service_contradicts_itself_about_is_doubted() {
    let page = |offset, size: u64, has_more, total| Slice {
        offset,
        ids: (offset..offset + size)
            .map(|id| Identity::of(&id.to_le_bytes(), true))
            .collect(),
        has_more,
        total,
    };
    let doubts = |pages: &[Slice]| {
        let mut stitcher = Stitcher::new(Consistency::Complete);
        for page in pages {
            let verdict = stitcher.judge(page, false).unwrap();
            assert!(matches!(verdict, Verdict::Deliver { .. }));
        }
        stitcher.doubts
    };
    assert_eq!(doubts(&[page(0, 100, false, 100)]), []);
    assert_eq!(doubts(&[page(0, 0, false, 0)]), []);
    assert_eq!(doubts(&[page(0, 0, false, 1000)]), [Doubt::ShortOfTotal]);
    assert_eq!(doubts(&[page(0, 0, true, 1000)]), [Doubt::EmptyPage]);
    let ends_twice = [page(0, 100, false, 1000), page(99, 1, false, 1000)];
    assert_eq!(doubts(&ends_twice), [Doubt::ShortOfTotal]);
    let mut same = page(0, 3, false, 3);
    same.ids[2] = same.ids[0];
    assert_eq!(doubts(&[same]), [Doubt::RepeatedId]);
    let mut known = page(99, 100, false, 199);
    known.ids[50] = known.ids[0];
    assert_eq!(
        doubts(&[page(0, 100, true, 199), known]),
        [Doubt::RepeatedId]
    );
}

#[test]
fn a_place_at_the_end_of_all_numbers_is_survived() {
    let mut position = Position::default();
    position.note(u64::MAX, [Identity::of(b"1", true)].into_iter());
    let (delivered, _) = read(&mut List::new(5), Some(&position), usize::MAX, |_| ());
    assert_eq!(delivered, [0, 1, 2, 3, 4]);
}
