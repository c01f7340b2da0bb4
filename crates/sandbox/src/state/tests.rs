//! What a list does over several requests.

use super::*;

fn state(order: Order, drift: Option<Drift>) -> State {
    let options = Options {
        order,
        drift,
        ..Options::default()
    };
    State::new(&options, 300, true)
}

fn read(state: &mut State, offset: u64, limit: u64) -> Vec<u64> {
    let page = state.page(Asked { offset, limit });
    page.numbers.into_iter().flatten().collect()
}

#[test]
fn memory_grows_with_the_changes_only() {
    let drift = Drift {
        every_requests: 2,
        inserts: 3,
        deletes: 2,
        seed: 5,
        ..Drift::default()
    };
    let options = Options {
        drift: Some(drift),
        ..Options::default()
    };
    let mut list = State::new(&options, 1 << 50, true);
    for page in 0..100 {
        read(&mut list, page * 100, 100);
    }
    assert_eq!(list.total(), (1 << 50) + 50);
    assert_eq!(list.came(), 1 << 50..(1 << 50) + 150);
    assert_eq!(list.went().count(), 100);
}

#[test]
fn an_updated_record_goes_where_the_order_puts_it() {
    for (order, place) in [
        (Order::Stable, Some(0)),
        (Order::Ties, None),
        (Order::Random, None),
        (Order::Updated, Some(299)),
        (Order::UpdatedDesc, Some(0)),
        (Order::Anywhere, None),
    ] {
        let mut list = state(order, None);
        list.change(Change::UpdateFirst(1)).unwrap();
        let all = read(&mut list, 0, 300);
        let found = all.iter().position(|number| *number == 0).unwrap();
        assert!(place.is_none_or(|place| place == found), "{order} {found}");
        let moved = list.moved().count();
        let moves = order.after_update(1, &mut Rng::new(0)).is_some();
        assert_eq!(moved, usize::from(moves), "{order}");
    }
}

#[test]
fn drift_updates_and_deletes_in_bulk() {
    let drift = Drift {
        every_requests: 2,
        times: 1,
        updates: 3,
        bulk_deletes: 20,
        ..Drift::default()
    };
    let mut list = state(Order::Updated, Some(drift));
    let totals = [0; 6].map(|offset| {
        read(&mut list, offset, 10);
        list.total()
    });
    assert_eq!(totals, [300, 280, 280, 280, 280, 280]);
    assert_eq!((list.moved().count(), list.went().count()), (3, 20));
    let mut went: Vec<u64> = list
        .went()
        .filter(|gone| !list.moved.contains(gone))
        .collect();
    went.sort_unstable();
    assert!(
        went[went.len() - 1] - went[0] < 23,
        "in one piece: {went:?}"
    );
}

#[test]
fn changes_at_once_reorder_the_list_and_are_bounded() {
    let mut list = state(Order::Stable, None);
    list.change(Change::DeleteFirst(2)).unwrap();
    list.change(Change::Reverse).unwrap();
    assert_eq!(read(&mut list, 0, 3), [299, 298, 297]);
    list.change(Change::Shuffle).unwrap();
    list.change(Change::Move(50)).unwrap();
    let mut all = read(&mut list, 0, 300);
    assert!(!all.is_sorted());
    all.sort_unstable();
    assert!(all.into_iter().eq(2..300));
    assert_eq!(list.moved().count(), 298);
    list.change(Change::DeleteFirst(500)).unwrap();
    assert_eq!(list.total(), 0);

    let mut huge = State::new(&Options::default(), 1 << 50, true);
    huge.change(Change::Reverse).unwrap_err();
    huge.change(Change::Move(1 << 40)).unwrap_err();
    huge.change(Change::DeleteFirst(3)).unwrap();
    assert_eq!(read(&mut huge, 0, 1), [3]);
}

#[test]
fn the_last_replica_lacks_the_end() {
    let options = Options {
        replicas: Some(Replicas::default()),
        ..Options::default()
    };
    let mut list = State::new(&options, 1000, true);
    for (total, count) in [(1000, 100), (750, 50), (1000, 100)] {
        let asked = Asked {
            offset: 700,
            limit: 100,
        };
        let page = list.page(asked);
        let numbers = page.numbers.into_iter().flatten().count();
        assert_eq!((page.total, numbers), (total, count));
    }
}

#[test]
fn pages_can_become_smaller() {
    let options = Options {
        later_max_limit: Some(50),
        ..Options::default()
    };
    let mut list = State::new(&options, 600, true);
    let lengths = [0; 5].map(|offset| read(&mut list, offset, 100).len());
    assert_eq!(lengths, [100, 100, 100, 50, 50]);
}

#[test]
fn an_ignored_offset_brings_the_first_page_each_time() {
    let options = Options {
        ignore_offset: true,
        ..Options::default()
    };
    let mut list = State::new(&options, 250, true);
    assert_eq!(read(&mut list, 200, 3), [0, 1, 2]);
}

#[test]
fn what_happened_is_logged_in_order_and_moves_are_not() {
    let mut list = state(Order::Updated, None);
    list.at(Duration::from_secs(5));
    list.change(Change::Update(2)).unwrap();
    list.change(Change::Delete(1)).unwrap();
    list.at(Duration::from_secs(6));
    list.change(Change::Insert(1)).unwrap();
    list.change(Change::Shuffle).unwrap();
    let log: Vec<_> = list
        .log()
        .iter()
        .map(|entry| (entry.at.as_secs(), entry.operation))
        .collect();
    let expected = [
        (5, Operation::Update),
        (5, Operation::Update),
        (5, Operation::Delete),
        (6, Operation::Insert),
    ];
    assert_eq!(log, expected);
    assert_eq!(list.log()[3].number, 300);

    let mut without = State::new(&Options::default(), 300, false);
    without.change(Change::Update(9)).unwrap();
    assert!(without.log().is_empty());
    assert_eq!(without.version(0), 0);
}
