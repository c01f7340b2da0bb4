//! The log as an operator sees it: the level of each message, and its fields.

use crate::{start, stub};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use talentdata_core::Client;
use talentdata_core::internal::log::{self, Level, Message, ThreadLog};
use talentdata_sandbox::Options;

/// The messages of this thread, from a level on.
#[derive(Clone)]
struct Log(Level, Arc<Mutex<Vec<Message>>>);

impl Log {
    fn attached(most: Level) -> Log {
        let log = Log(most, Arc::default());
        ThreadLog::new(log.clone()).attach();
        log
    }

    /// Returns the level and the sentence of each message, and its fields without those that vary.
    fn lines(&self) -> Vec<(Level, String, Value)> {
        let lines = std::mem::take(&mut *self.1.lock().unwrap());
        let line = |mut message: Message| {
            message.fields.remove("seconds");
            // The fields follow the sentence.
            let words = message
                .line
                .split(' ')
                .take_while(|word| !word.contains('='));
            let sentence = words.collect::<Vec<_>>().join(" ");
            (message.level, sentence, Value::Object(message.fields))
        };
        lines.into_iter().map(line).collect()
    }
}

impl log::Listener for Log {
    fn level(&self) -> Option<Level> {
        Some(self.0)
    }

    fn hear(&self, message: Message) {
        self.1.lock().unwrap().push(message);
    }
}

/// Returns a client of a service that answers requests for contacts like this.
fn client(
    answer: impl Fn(&stub::Request) -> (u16, &'static str, String) + Send + Sync + 'static,
) -> Client {
    let base_url = stub::serve(stub::api(answer));
    let mut settings = stub::settings(&base_url);
    settings.client_id("somebody").build().unwrap()
}

#[tokio::test]
async fn a_run_without_trouble_says_nothing_above_info() {
    let log = Log::attached(Level::INFO);
    let (_sandbox, settings) = start(Options {
        records: [("contacts".to_owned(), 1000)].into(),
        ..Options::default()
    });
    let client = settings.build().unwrap();
    assert_eq!(stub::count(&client).await.unwrap(), 1000);
    let lines = log.lines();
    assert!(
        lines.iter().all(|(level, ..)| *level == Level::INFO),
        "{lines:?}"
    );
    assert!(
        lines
            .iter()
            .any(|(_, line, _)| line.starts_with("received an access token"))
    );
}

#[tokio::test]
async fn each_kind_of_failure_that_a_call_recovers_from_is_one_warning() {
    for (status, reason) in [(500, "Server"), (429, "RateLimited"), (401, "Auth")] {
        let log = Log::attached(Level::WARN);
        let requests = AtomicU64::new(0);
        // Every second request is answered.
        let client = client(move |request| match requests.fetch_add(1, Relaxed) % 2 {
            0 => (status, "retry-after: 0\r\n", String::new()),
            _ => (200, "", stub::contacts(request, 1)),
        });
        for _ in 0..3 {
            client.contacts().page(None, 0).await.unwrap();
        }
        let fields = json!({
            "client": "somebody", "operation": "listContacts", "offset": 0, "reason": reason, "status": status,
            "attempt": 2, "times": 1
        });
        let line = "a call succeeded after a failure".to_owned();
        assert_eq!(log.lines(), [(Level::WARN, line, fields)], "{status}");
    }
}

#[tokio::test]
async fn a_failure_that_ends_a_call_or_a_scan_is_one_error() {
    let log = Log::attached(Level::INFO);
    let base_url = stub::serve(|_, socket| stub::reply(socket, 401, "x-request-id: r1\r\n", "{}"));
    let client = stub::settings(&base_url)
        .client_id("somebody")
        .build()
        .unwrap();
    client.version().await.unwrap_err();
    stub::count(&client).await.unwrap_err();
    let fields = |others: Value| {
        let mut fields = json!({
            "client": "somebody", "reason": "Auth", "status": 401, "attempt": 1, "request_id": "r1"
        });
        let all = fields.as_object_mut().unwrap();
        all.append(&mut others.as_object().unwrap().clone());
        (Level::ERROR, fields)
    };
    let of_call = fields(json!({"operation": "getVersion"}));
    let of_scan = fields(json!({"operation": "createToken", "list": "contacts", "offset": 0}));
    let errors = log.lines().into_iter();
    let errors: Vec<_> = errors.map(|(level, _, fields)| (level, fields)).collect();
    assert_eq!(errors, [of_call, of_scan]);
}

#[tokio::test]
async fn an_outage_leaves_a_line_at_its_beginning_and_one_at_its_end() {
    let log = Log::attached(Level::WARN);
    let (requests, down) = (AtomicU64::new(0), OnceLock::new());
    let client = client(move |request| {
        let is_up = requests.fetch_add(1, Relaxed) < 10
            || down.get_or_init(Instant::now).elapsed() > Duration::from_secs(3);
        if is_up {
            (200, "", stub::contacts(request, 3000))
        } else {
            (503, "", String::new())
        }
    });
    assert_eq!(stub::count(&client).await.unwrap(), 3000);
    let lines: Vec<_> = log
        .lines()
        .into_iter()
        .map(|(level, line, _)| (level, line))
        .collect();
    let down = "the service is down; one request at a time probes it".to_owned();
    let up = "the service is up again".to_owned();
    assert_eq!(lines, [(Level::WARN, down), (Level::WARN, up)]);
}
