//! The shared token: which clients accept it, and what happens if its file or its lock is faulty.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by cfg(test) alone")]

use super::*;
use crate::budget::shared_file::tests::{open, place, set_mode};
use crate::error::{Error, ErrorKind};
use crate::request::auth::tests::token;
use std::cell::Cell;
use std::path::Path;

const SECRET: &str = "CANARY-secret";
const HOUR: Duration = Duration::from_secs(3600);

/// Returns a client with this secret.
fn client(path: &Path, secret: &str) -> SharedToken {
    SharedToken::at(
        path.to_owned(),
        "a company".into(),
        Arc::new(Credential::given(secret)),
    )
}

/// Returns a token that was issued now.
fn issued(text: &str) -> Token {
    let now = clock::now();
    token(text, [now, now + HOUR * 9 / 10, now + HOUR])
}

/// Returns the token that a client gets. The client fetches the token `text` if it needs a new one.
async fn get(client: &SharedToken, rejected: Option<&Token>, text: &str) -> Token {
    let rejected = rejected.map(|token| &token.issued);
    let fetched = client.token(rejected, async { Ok(issued(text)) });
    fetched.await.unwrap()
}

fn text(token: &Token) -> &str {
    token.issued.secret.expose()
}

/// Stores a token like the process that has the lock.
fn store(client: &SharedToken, issued: &Issued) {
    let mut locked = client.file.lock().unwrap();
    client.store(&mut locked, issued).unwrap();
}

/// Either the checksum of the file matches its wrong content, or nothing matches.
#[tokio::test]
async fn a_token_that_was_changed_is_not_accepted_and_is_replaced() {
    let (_directory, file) = place();
    let one = client(&file.path, SECRET);
    get(&one, None, "first").await;
    let whole = file.look().unwrap().unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        file.lock().unwrap().write(&damaged).unwrap();
        assert!(one.find(None).is_none(), "byte {at}");
    }
    for length in [0, 31, 32, whole.len() - 1] {
        file.lock().unwrap().write(&whole[..length]).unwrap();
        assert!(one.find(None).is_none(), "{length} bytes");
    }
    for (own, from_another) in [("second", false), ("third", true)] {
        let token = get(&client(&file.path, SECRET), None, own).await;
        assert_eq!((text(&token), token.from_another), ("second", from_another));
    }
    std::fs::write(&file.path, "something else").unwrap();
    assert_eq!(text(&get(&one, None, "third").await), "third");
}

#[tokio::test]
async fn without_a_file_each_client_has_its_own_token_and_gives_the_reason() {
    let (directory, SharedFile { path, .. }) = place();
    set_mode(directory.path(), 0o777);
    for own in ["first", "second"] {
        let client = client(&path, SECRET);
        assert_eq!(text(&get(&client, None, own).await), own);
        let trouble = client.trouble().unwrap();
        assert!(trouble.contains("other users may write"), "{trouble}");
    }
}

#[tokio::test]
async fn a_client_without_the_secret_neither_gets_the_token_nor_removes_it() {
    let (_directory, SharedFile { path, .. }) = place();
    let right = client(&path, SECRET);
    get(&right, None, "first").await;
    let wrong = client(&path, "another secret");
    let refused = async { Err(Error::new(ErrorKind::Auth, "refused")) };
    assert!(wrong.token(None, refused).await.is_err());
    assert_eq!(text(&get(&right, None, "second").await), "first");
    // A new secret replaces the token of the old one.
    assert_eq!(text(&get(&wrong, None, "third").await), "third");
    assert!(right.find(None).is_none());
    let kept = std::fs::read(&path).unwrap();
    for text in ["first", SECRET, "another secret"] {
        let bytes = text.as_bytes();
        assert!(!kept.windows(bytes.len()).any(|found| found == bytes));
    }
}

#[tokio::test]
async fn a_token_is_used_until_its_renewal_and_not_before_its_issue() {
    let (_directory, SharedFile { path, .. }) = place();
    let one = client(&path, SECRET);
    let now = clock::now();
    let second = Duration::from_secs(1);
    for (times, is_taken) in [
        ([now - second, now + HOUR, now + HOUR], true),
        ([now - 2 * second, now - second, now + HOUR], false),
        ([now - 2 * second, now - second, now - second], false),
        // Stored during another boot of the host, on a system that does not identify its boots.
        ([now + HOUR, now + 2 * HOUR, now + 2 * HOUR], false),
    ] {
        let issued = token("stored", times).issued;
        store(&one, &issued);
        assert_eq!(one.find(None).is_some(), is_taken, "{issued:?}");
    }
}

#[tokio::test]
async fn a_refused_token_is_dropped_and_a_newer_one_is_taken() {
    let (_directory, SharedFile { path, .. }) = place();
    let (one, other) = (client(&path, SECRET), client(&path, SECRET));
    let first = get(&one, None, "first").await;
    let down = async { Err(Error::new(ErrorKind::Server, "down")) };
    assert!(one.token(Some(&first.issued), down).await.is_err());
    assert!(other.find(None).is_none(), "others must not find it");
    let second = get(&other, Some(&first), "second").await;
    assert_eq!(text(&second), "second");
    // A client that still has the first token takes the second, and does not replace it with an older one.
    assert_eq!(text(&get(&one, Some(&first), "third").await), "second");
    other.forget(&first.issued);
    assert!(one.find(None).is_some(), "that is not the one in the file");
    other.forget(&second.issued);
    assert!(one.find(None).is_none());
    store(&one, &first.issued);
    assert!(one.find(Some(&second.issued)).is_none(), "an older one");
}

#[tokio::test]
async fn one_client_renews_and_waiting_clients_use_its_token() {
    let (_directory, SharedFile { path, .. }) = place();
    let clients = [(); 5].map(|()| client(&path, SECRET));
    let fetched = Cell::new(0);
    let fetch = async || {
        fetched.set(fetched.get() + 1);
        // Longer than the pause between two tries of the lock.
        tokio::time::sleep(10 * PAUSE).await;
        Ok(issued("first"))
    };
    let [a, b, c, d, e] = clients.each_ref().map(|client| client.token(None, fetch()));
    let (a, b, c, d, e) = tokio::join!(a, b, c, d, e);
    let tokens = [a, b, c, d, e].map(Result::unwrap);
    assert_eq!(fetched.get(), 1);
    for token in &tokens {
        assert!(text(token) == "first" && token.issued == tokens[0].issued);
    }
    let own = tokens.iter().filter(|token| !token.from_another);
    assert_eq!(own.count(), 1);
    let later = get(&client(&path, SECRET), None, "second").await;
    assert!(text(&later) == "first" && later.from_another);
}

/// Simulates a process that is stopped after it took the lock.
#[tokio::test]
async fn a_stopped_process_blocks_nobody_and_replaces_no_newer_token() {
    let (_directory, SharedFile { path, .. }) = place();
    let (stopped, mut other) = (client(&path, SECRET), client(&path, SECRET));
    other.file.max_tries = 3;
    let fetch = async {
        let old = issued("old");
        let newer = get(&other, None, "newer").await;
        assert_eq!(text(&newer), "newer");
        // The process that took over excludes the others.
        let locked = other.lock().await.unwrap();
        assert!(open(&path).try_lock().is_err());
        drop(locked);
        Ok(old)
    };
    let token = stopped.token(None, fetch).await.unwrap();
    assert_eq!(text(&token), "newer");
    assert_eq!(text(&other.find(None).unwrap()), "newer");
}
