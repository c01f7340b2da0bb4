//! One scan of one service, and whether it kept the law: proven means that every record was delivered exactly once.

use super::{MayBe, Row};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use talentdata_core::scan::{Completeness, Resume, ScanOptions};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_sandbox::{Change, Drift, Options, Sandbox, limit::Policy};

/// A service with a list, and a client that reads it in pages of one size.
pub(super) struct Trial {
    list: Resource,
    page_size: u64,
    most_pages: u64,
    /// Records on a page as the service grants them.
    granted: u64,
    records: u64,
    sandbox: Sandbox,
    client: Client,
}

/// What a scan has delivered, by identity, and how it ended.
pub(super) struct Told {
    delivered: BTreeMap<String, u64>,
    ended: Result<Completeness, Error>,
}

impl Trial {
    pub(super) fn of(row: &Row, page_size: u64, seed: u64) -> Self {
        let records = row.records.min(row.most_pages * page_size);
        let sandbox = Sandbox::start(Options {
            records: [(row.list.name().to_owned(), records)].into(),
            policy: Policy::Unlimited,
            faults: true,
            seed,
            drift: row.service.drift.map(|drift| Drift { seed, ..drift }),
            ..row.service.clone()
        });
        let sandbox = sandbox.unwrap();
        let client = Client::builder()
            .base_url(sandbox.base_url())
            .client_id(sandbox.client_id())
            .client_secret(sandbox.client_secret())
            .paced(false)
            .build()
            .unwrap();
        Trial {
            list: row.list,
            page_size,
            most_pages: row.most_pages,
            granted: page_size.min(row.service.max_limit.unwrap_or(100)),
            records,
            sandbox,
            client,
        }
    }

    /// Reads the list in one scan, or in two with a change in between.
    pub(super) async fn read(&self, meanwhile: Option<Change>) -> Told {
        match meanwhile {
            None => self.scan().await,
            Some(change) => self.resumed(change).await,
        }
    }

    async fn scan(&self) -> Told {
        let options = self.options();
        let mut scan = self.client.resource(self.list).scan(options);
        let mut delivered = BTreeMap::new();
        let ended = loop {
            match scan.next().await {
                Some(Ok(record)) => {
                    *delivered.entry(identity(record.as_str())).or_default() += 1;
                }
                Some(Err(error)) => break Err(error),
                None => break Ok(scan.receipt().completeness),
            }
        };
        Told { delivered, ended }
    }

    /// The second scan goes on where the first one was stopped.
    async fn resumed(&self, change: Change) -> Told {
        let (mut delivered, mut entries) = (BTreeMap::new(), Vec::new());
        let mut scan = self.client.resource(self.list).scan(self.options());
        let mut state = None;
        for _ in 0..self.most_pages * 4 / 5 {
            let batch = match scan.next_batch().await {
                Some(Ok(batch)) => batch,
                Some(Err(error)) => {
                    let delivered = BTreeMap::new();
                    let ended = Err(error);
                    return Told { delivered, ended };
                }
                None => panic!("the scan ended before it was to be stopped"),
            };
            for record in &batch.records {
                *delivered.entry(identity(record.as_str())).or_default() += 1;
            }
            batch.append_entries(&mut entries);
            state = Some(batch.state().clone());
        }
        drop(scan);
        self.sandbox.change(self.list.name(), change).unwrap();
        let resume = Resume::new(state.unwrap(), entries).unwrap();
        let mut scan = self.client.resource(self.list).scan(ScanOptions {
            resume: Some(resume),
            ..self.options()
        });
        let ended = loop {
            match scan.next_batch().await {
                Some(Ok(batch)) => {
                    for record in &batch.records {
                        *delivered.entry(identity(record.as_str())).or_default() += 1;
                    }
                }
                Some(Err(error)) => break Err(error),
                None => break Ok(scan.receipt().completeness),
            }
        };
        Told { delivered, ended }
    }

    fn options(&self) -> ScanOptions {
        ScanOptions {
            page_size: Some(self.page_size),
            ..ScanOptions::default()
        }
    }

    /// Completes when far more requests were sent than reading the list several times takes.
    pub(super) async fn too_many_requests(&self) -> u64 {
        let most = 300 + 10 * self.records / self.granted;
        loop {
            let requests = self.sandbox.stats().requests;
            if requests > most {
                return requests;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The law, and what the row says beside it.
    pub(super) fn judge(&self, may_be: MayBe, told: Result<Told, u64>) -> Result<(), String> {
        let Told { delivered, ended } =
            told.map_err(|requests| format!("no end after {requests} requests"))?;
        let several_pages = self.records > self.granted;
        let completeness = match ended {
            Err(error) if matches!(error.kind(), ErrorKind::Paging | ErrorKind::Incomplete) => {
                return match may_be {
                    MayBe::Proven => Err(format!("ended with an error: {error}")),
                    _ => Ok(()),
                };
            }
            Err(error) => return Err(format!("ended with {:?}: {error}", error.kind())),
            Ok(completeness) => completeness,
        };
        if completeness != Completeness::Proven {
            let needed = may_be == MayBe::Proven && self.granted > 1;
            return match needed {
                true => Err(format!("ended {completeness:?}")),
                false => Ok(()),
            };
        }
        let faults = self.faults(&delivered, may_be);
        if may_be == MayBe::AnyOfCopies {
            return Ok(());
        }
        if !faults.is_empty() {
            return Err(format!("proven, but {}", faults.join(", ")));
        }
        match may_be == MayBe::NotProven && several_pages {
            true => Err("proven, which it cannot be".to_owned()),
            false => Ok(()),
        }
    }

    /// What is missing of the records that were in the list all the time, and what was delivered more often than it
    /// was ever there.
    fn faults(&self, delivered: &BTreeMap<String, u64>, may_be: MayBe) -> Vec<String> {
        let log = self.log();
        let identities = |what: &str| log[what].as_array().unwrap().iter().map(Value::to_string);
        let moved: HashSet<String> = identities("moved").collect();
        let stayed = count(identities("stayed"));
        let mut ever = count(["stayed", "came"].into_iter().flat_map(identities));
        let came = count(identities("came"));
        for (identity, went) in count(identities("went")) {
            let came = came.get(&identity).copied().unwrap_or(0);
            *ever.entry(identity).or_default() += went.saturating_sub(came);
        }
        let of =
            |counts: &BTreeMap<String, u64>, identity| counts.get(identity).copied().unwrap_or(0);
        let (mut lost, mut lost_moved, mut repeated) = (0, 0, 0);
        for (identity, count) in &stayed {
            let missing = count.saturating_sub(of(delivered, identity));
            match moved.contains(identity) {
                true => lost_moved += missing,
                false => lost += missing,
            }
        }
        for (identity, count) in delivered {
            repeated += count.saturating_sub(of(&ever, identity));
        }
        if may_be == MayBe::AnyWithoutTheMoved {
            lost_moved = 0;
            // In small pages, those that moved may also hide others.
            if self.granted < 10 {
                lost = 0;
            }
        }
        let faults = [
            (lost, "lost"),
            (lost_moved, "lost that had moved"),
            (repeated, "delivered too often"),
        ];
        let faults = faults.into_iter().filter(|(count, _)| *count > 0);
        let total: u64 = stayed.values().sum();
        faults
            .map(|(count, fault)| format!("{count} of {total} {fault}"))
            .collect()
    }

    /// What has really happened to the list, by the sandbox's account.
    fn log(&self) -> Value {
        let address = self.sandbox.base_url().trim_start_matches("http://");
        let mut socket = TcpStream::connect(address).unwrap();
        let list = self.list.name();
        let head = format!("GET /__drift?list={list} HTTP/1.1\r\nhost: {address}\r\n");
        write!(socket, "{head}connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }
}

/// The `id` of a record, or its members except the one that is another one at every read: as in the log.
fn identity(record: &str) -> String {
    #[derive(Deserialize)]
    struct Id<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    if let Some(id) = serde_json::from_str::<Id>(record).unwrap().id {
        return id.get().to_owned();
    }
    let mut record: Value = serde_json::from_str(record).unwrap();
    let members = record.as_object_mut().unwrap();
    members.retain(|name, _| name != "photoUrl");
    record.to_string()
}

fn count(identities: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for identity in identities {
        *counts.entry(identity).or_default() += 1;
    }
    counts
}
