//! A list of contacts whose records the test sets, byte by byte.

use super::stub::{self, Request, reply, serve, token};
use std::sync::{Arc, Mutex};
use talentdata_core::Client;

/// The list and a client of it.
pub(crate) struct List {
    contents: Arc<Mutex<Contents>>,
    pub(crate) base_url: String,
    pub(crate) client: Client,
}

#[derive(Default)]
struct Contents {
    records: Vec<String>,
    /// Added to the total that is reported.
    surplus: u64,
}

impl List {
    /// With these records.
    pub(crate) fn of<S: Into<String>>(records: impl IntoIterator<Item = S>) -> Self {
        let contents: Arc<Mutex<Contents>> = Arc::default();
        let shown = Arc::clone(&contents);
        let base_url = serve(move |request, socket| {
            let body = match request.asks_for_a_token() {
                true => token("CANARY-token", 3600.0),
                false => page(request, &shown.lock().unwrap()),
            };
            reply(socket, 200, "", body);
        });
        let mut settings = stub::settings(&base_url);
        let list = List {
            contents,
            client: settings.paced(false).build().unwrap(),
            base_url,
        };
        list.set(records);
        list
    }

    /// Contacts with these ids.
    pub(crate) fn with_ids(ids: impl IntoIterator<Item = u64>) -> Self {
        Self::of(ids.into_iter().map(contact))
    }

    /// Replaces its records.
    pub(crate) fn set<S: Into<String>>(&self, records: impl IntoIterator<Item = S>) {
        let records = records.into_iter().map(Into::into).collect();
        self.contents.lock().unwrap().records = records;
    }

    /// Lets the service report so many records more than there are, which leaves a doubt.
    pub(crate) fn overstate(&self, surplus: u64) {
        self.contents.lock().unwrap().surplus = surplus;
    }

    /// Its records as JSON Lines.
    pub(crate) fn lines(&self) -> String {
        let contents = self.contents.lock().unwrap();
        let lines = contents.records.iter().map(|record| format!("{record}\n"));
        lines.collect()
    }
}

/// A contact with this id.
pub(crate) fn contact(id: u64) -> String {
    format!(r#"{{"id":"c-{id}","firstName":"A{id}","lastName":"B","email":"c{id}@example.com"}}"#)
}

fn page(request: &Request, contents: &Contents) -> String {
    let all = contents.records.len();
    let offset = request.number("offset").unwrap_or(0) as usize;
    let limit = request.number("limit").unwrap_or(20) as usize;
    let from = offset.min(all);
    let to = (offset + limit).min(all);
    let records = contents.records[from..to].join(",");
    let (total, more) = (all as u64 + contents.surplus, to < all);
    format!(
        r#"{{"success":true,"contacts":[{records}],"pagination":{{"total":{total},"limit":{},"offset":{offset},"hasMore":{more}}}}}"#,
        to - from
    )
}
