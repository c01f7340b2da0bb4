//! The second look at lists that stand still, move, and bring records back.

use super::*;

/// The outcome of looking for these records of `before`, and the pages read. The scan has delivered all others,
/// and since then the list has become `now`.
fn look(before: &[u128], absent: &[u128], now: &[u128], page: usize) -> (Vec<bool>, u64) {
    look_asking(page as u64, before, absent, now, page)
}

/// The same from a service that grants pages of `page` records, however many are `asked` for.
fn look_asking(
    asked: u64,
    before: &[u128],
    absent: &[u128],
    now: &[u128],
    page: usize,
) -> (Vec<bool>, u64) {
    look_moving(asked, before, absent, now, page, |_, _| {})
}

/// The same at a list that changes before each request.
fn look_moving(
    asked: u64,
    before: &[u128],
    absent: &[u128],
    now: &[u128],
    page: usize,
    mut change: impl FnMut(u64, &mut Vec<u128>),
) -> (Vec<bool>, u64) {
    let mut now = now.to_vec();
    let delivered: Vec<u128> = (before.iter().copied())
        .filter(|id| !absent.contains(id))
        .collect();
    let locate = |id: u128| {
        let place = delivered.iter().position(|other| *other == id)? as u64 + 1;
        let position = before.iter().position(|other| *other == id)? as u64;
        Some(Located { position, place })
    };
    let gaps = absent.iter().map(|id| {
        let at = before.iter().position(|other| other == id).unwrap();
        let is_there = |id: &&u128| delivered.contains(id);
        let previous = before[..at].iter().rfind(is_there);
        let located = previous.and_then(|previous| locate(*previous));
        Gap {
            from: at as u64,
            to: at as u64 + 1,
            place: located.map_or(0, |located| located.place),
            first: at as u64,
            end: at as u64 + 1,
            begins: previous.is_some(),
            ends: before[at..].iter().any(|id| is_there(&id)),
            ..Gap::default()
        }
    });
    let undelivered = |id: &u128| {
        let position = before.iter().position(|other| other == id)? as u64;
        let apart = false;
        let undelivered = Undelivered { position, apart };
        absent.contains(id).then_some(undelivered)
    };
    let mut looks = Looks::new(gaps.collect(), asked, 100);
    let mut requests = 0;
    while let Some(offset) = looks.next() {
        requests += 1;
        change(requests, &mut now);
        let from = (offset as usize).min(now.len());
        let to = (from + page).min(now.len());
        looks.take(&Shown {
            offset,
            identities: now[from..to].to_vec(),
            records: now[from..to].iter().map(|id| locate(*id)).collect(),
            undelivered: now[from..to].iter().filter_map(undelivered).collect(),
            is_end: to == now.len(),
            total: now.len() as u64,
        });
    }
    let gone = looks.finish().into_iter().map(|gap| gap.gone);
    (gone.collect(), requests)
}

fn without(list: &[u128], gone: &[u128]) -> Vec<u128> {
    let list = list.iter().copied();
    list.filter(|id| !gone.contains(id)).collect()
}

#[test]
fn a_record_is_gone_where_its_neighbours_stand_without_it() {
    let list: Vec<u128> = (1..=1000).collect();
    let gone = [300, 305, 700];
    let now = without(&list, &gone);
    // The first two are on one page.
    assert_eq!(look(&list, &gone, &now, 100), (vec![true; 3], 2));
    // Its neighbours may be gone by then, too.
    let more: Vec<u128> = (296..=304).chain([305, 700]).collect();
    let now = without(&list, &more);
    assert_eq!(look(&list, &gone, &now, 100), (vec![true; 3], 2));
}

#[test]
fn the_end_of_the_list_is_found_where_what_stood_before_the_gap_is_gone_too() {
    let list: Vec<u128> = (1..=1000).collect();
    let now: Vec<u128> = (1..=960).collect();
    let (gone, requests) = look(&list, &[999, 1000], &now, 100);
    assert!(gone == [true; 2] && requests <= 4, "{gone:?}, {requests}");
}

#[test]
fn a_record_that_is_there_again_is_not_gone() {
    let list: Vec<u128> = (1..=1000).collect();
    assert_eq!(look(&list, &[300], &list, 100), (vec![false], 1));
    // Nor is one that stands elsewhere on the page, or among records in another order.
    let mut moved = without(&list, &[300]);
    moved.insert(310, 300);
    assert_eq!(look(&list, &[300], &moved, 100), (vec![false], 1));
    let mut turned = without(&list, &[300]);
    turned.swap(290, 310);
    assert_eq!(look(&list, &[300], &turned, 100).0, [false]);
}

#[test]
fn a_gap_is_found_where_the_list_has_moved() {
    let list: Vec<u128> = (1..=1000).collect();
    let rest = without(&list, &[500]);
    for moved in [10_u128, 40, 80, 400] {
        let now: Vec<u128> = (2000..2000 + moved).chain(rest.clone()).collect();
        let (gone, requests) = look(&list, &[500], &now, 100);
        assert!(gone[0] && requests <= 3, "{moved}: {requests}");
        let now = &rest[moved as usize..];
        let (gone, requests) = look(&list, &[500], now, 100);
        assert!(gone[0] && requests <= 3, "{moved}: {requests}");
    }
    // Among nothing that is known, the list is read from where it begins.
    let now: Vec<u128> = (2000..4000).chain(rest).collect();
    let (gone, requests) = look(&list, &[500], &now, 100);
    assert!(gone[0] && requests <= 30, "{requests}");
}

#[test]
fn a_gap_is_found_where_pages_are_smaller_than_asked_for() {
    let list: Vec<u128> = (1..=1000).collect();
    let gone = [300, 700];
    let rest = without(&list, &gone);
    let now: Vec<u128> = (2000..2030).chain(rest).collect();
    let (gone, requests) = look_asking(100, &list, &gone, &now, 7);
    assert!(gone == [true; 2] && requests <= 8, "{gone:?}: {requests}");
}

#[test]
fn the_ends_of_the_list_are_neighbours_too() {
    let list: Vec<u128> = (1..=400).collect();
    let now = without(&list, &[1, 400]);
    assert_eq!(look(&list, &[1, 400], &now, 100), (vec![true; 2], 2));
    assert_eq!(look(&list, &[1, 400], &list, 100).0, [false; 2]);
    assert_eq!(look(&[1], &[1], &[], 100), (vec![true], 1));
    assert_eq!(look(&[1], &[1], &[1], 100).0, [false]);
}

#[test]
fn a_gap_is_found_where_all_around_it_is_gone_by_now() {
    let list: Vec<u128> = (1..=1000).collect();
    for (from, to) in [(271, 330), (200, 301), (299, 500), (2, 998)] {
        let gone: Vec<u128> = (from..=to).collect();
        let now = without(&list, &gone);
        let (found, requests) = look(&list, &[300], &now, 20);
        assert!(found[0] && requests <= 12, "{from}, {to}: {requests}");
    }
}

#[test]
fn pages_are_joined_where_more_is_new_than_one_of_them_shows() {
    let list: Vec<u128> = (1..=1000).collect();
    for (gone, at) in [(1, 0), (500, 499), (1000, 999)] {
        let mut now = without(&list, &[gone]);
        now.splice(at..at, 2000..2350);
        let (found, requests) = look(&list, &[gone], &now, 100);
        assert!(found[0] && requests <= 7, "{gone}: {requests}");
        // Among them it is not gone.
        now.insert(at + 170, gone);
        assert_eq!(look(&list, &[gone], &now, 100).0, [false]);
    }
}

#[test]
fn a_chain_is_taken_up_again_where_the_list_has_moved() {
    let list: Vec<u128> = (1..=400).collect();
    let mut now = without(&list, &[200]);
    now.splice(199..199, 2000..2060);
    for at in 2..7 {
        // What stands before it comes and goes.
        let (gone, requests) = look_moving(10, &list, &[200], &now, 10, |request, now| {
            if request == at {
                now.drain(20..60);
            }
        });
        assert!(gone[0] && requests <= 30, "{at}: {requests}");
        let (gone, requests) = look_moving(10, &list, &[200], &now, 10, |request, now| {
            if request == at {
                now.splice(20..20, 5000..5040);
            }
        });
        assert!(gone[0] && requests <= 30, "{at}: {requests}");
        // Its last page is gone, and some of what stands before it.
        let (gone, requests) = look_moving(10, &list, &[200], &now, 10, |request, now| {
            if request == at {
                now.drain(190..245);
            }
        });
        assert!(gone[0] && requests <= 30, "{at}: {requests}");
    }
}

#[test]
fn pages_that_do_not_join_prove_nothing() {
    let page = |offset, identities: &[u128]| Shown {
        offset,
        identities: identities.to_vec(),
        records: (identities.iter())
            .map(|id| {
                let position = u64::try_from(*id).unwrap();
                let place = position.min(2);
                (position <= 3).then_some(Located { position, place })
            })
            .collect(),
        undelivered: Vec::new(),
        is_end: identities.contains(&3),
        total: 20,
    };
    // Between 1 and 3, all that is new does not fit on a page of four.
    let gap = Gap {
        from: 2,
        to: 3,
        place: 1,
        first: 2,
        end: 3,
        begins: true,
        ends: true,
        ..Gap::default()
    };
    for (second, gone) in [
        ([12, 13, 14, 3], true),
        ([13, 14, 15, 3], false),
        // Records that have moved do not join.
        ([13, 12, 14, 3], false),
        ([12, 11, 14, 3], false),
    ] {
        let mut looks = Looks::new(vec![gap], 4, 2);
        assert_eq!(looks.next(), Some(0));
        looks.take(&page(0, &[1, 10, 11, 12]));
        assert_eq!(looks.next(), Some(3));
        looks.take(&page(3, &second));
        assert_eq!(looks.next(), None);
        assert_eq!(looks.finish()[0].gone, gone);
    }
}

#[test]
fn of_neighbours_that_were_not_delivered_one_may_be_there() {
    let gap = Gap {
        from: 1,
        to: 4,
        first: 1,
        end: 4,
        ..Gap::default()
    };
    let mut looks = Looks::new(vec![gap], 10, 5);
    assert_eq!(looks.next(), Some(0));
    let there = Undelivered {
        position: 2,
        apart: false,
    };
    looks.take(&Shown {
        offset: 0,
        identities: vec![7],
        records: vec![None],
        undelivered: vec![there],
        is_end: true,
        total: 1,
    });
    assert_eq!(looks.next(), None);
    let gaps = looks.finish().into_iter();
    let gaps: Vec<_> = gaps.map(|gap| (gap.first, gap.end, gap.gone)).collect();
    assert_eq!(gaps, [(1, 2, true), (2, 3, false), (3, 4, true)]);
}
