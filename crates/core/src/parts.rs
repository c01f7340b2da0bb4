//! Divides a list into parts for several workers, and reads them.

use crate::arguments::Arguments;
use crate::arrow::{OnNew, TableOptions, TableSchema};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::list::{List, check_limit};
use crate::page::Page;
use crate::plan::total;
use crate::record::{Identity, IdentityKey, RawRecord};
use crate::scan::{Consistency, Contents, Division, Part, Scan, ScanOptions, service};
use talentdata_types::{Location, Resource};
use tokio::task::JoinSet;

/// A list is divided into no more parts than this.
const MOST_PARTS: u64 = 10_000;

/// What has been read for a plan.
struct Plan {
    key: IdentityKey,
    division: Division,
    /// Records from all over the list, from which the columns are decided.
    sample: Vec<RawRecord>,
}

impl Client {
    /// Divides a list into at most `count` parts; see [`List::parts`].
    ///
    /// # Errors
    /// As there.
    pub async fn parts(
        &self,
        resource: Resource,
        count: u64,
        options: ScanOptions,
    ) -> Result<Vec<Part>> {
        check(resource, count, &options)?;
        let plan = Plan::read(self, resource, count, &options).await?;
        plan.parts(self, resource, &options)
    }

    /// The records of a part. Must be called within a tokio runtime.
    ///
    /// The scan ends with `InvalidArgument`, before anything is sent, when the part was planned with another base URL or
    /// client id.
    pub fn scan_part(&self, part: &Part) -> Scan {
        self.resource(part.resource()).scan(part.options())
    }
}

impl<T> List<T> {
    /// Divides the list into at most `count` parts of about the same size, which may be read anywhere and in any order,
    /// by [`Client::scan_part`]. Fewer come of a list that has fewer pages.
    ///
    /// This reads a page at the beginning and one at each inner boundary. Every record that is in the list from now
    /// until the last part is read comes in exactly one of them;
    /// [`Receipt::of_parts`](crate::scan::Receipt::of_parts) says whether that is proven.
    ///
    /// # Errors
    /// `InvalidArgument` for a `count` of 0 or above 10,000, for a snapshot, and for a scan that is limited, resumed or a
    /// part itself, or has parameters in headers, which may be secret; those of the call.
    pub async fn parts(&self, count: u64) -> Result<Vec<Part>> {
        self.parts_with(count, ScanOptions::default()).await
    }

    /// The same, with the parts read in this way.
    ///
    /// # Errors
    /// As [`parts`](Self::parts).
    pub async fn parts_with(&self, count: u64, mut options: ScanOptions) -> Result<Vec<Part>> {
        options.arguments = options.arguments.or(self.arguments());
        self.client().parts(self.resource(), count, options).await
    }
}

fn check(resource: Resource, count: u64, options: &ScanOptions) -> Result<()> {
    let wrong = |message: &str| Err(Error::new(ErrorKind::InvalidArgument, message));
    if !(1..=MOST_PARTS).contains(&count) {
        let message = format!("parts must be between 1 and {MOST_PARTS} (got {count})");
        return wrong(&message);
    }
    if options.consistency == Consistency::Snapshot {
        return wrong(
            "parts: parts are read at different times, so that they cannot be a snapshot; leave consistency snapshot out",
        );
    }
    if options.limit.is_some() || options.resume.is_some() || options.part.is_some() {
        return wrong("parts: a scan with a limit, a resumed one or a part has no parts");
    }
    check_limit(resource, "page_size", options.page_size)?;
    let operation = resource.shape().operation;
    options.arguments.check(operation)?;
    let sent = options.arguments.recorded(operation);
    let mut headers =
        (operation.parameters.iter()).filter(|parameter| parameter.location == Location::Header);
    if let Some(header) = headers.find(|parameter| sent.contains_key(parameter.name)) {
        let message = format!(
            "parts: {} is sent as a header, which may hold a secret, and a part carries none",
            header.argument
        );
        return wrong(&message);
    }
    Ok(())
}

impl Plan {
    async fn read(
        client: &Client,
        resource: Resource,
        count: u64,
        options: &ScanOptions,
    ) -> Result<Self> {
        let limit = options.page_size.or(resource.shape().max_limit);
        let first = page(client, resource, &options.arguments, limit, 0).await?;
        let total = total(&first);
        let granted = first.records.len() as u64;
        let has_more = first.pagination.has_more;
        let mut plan = Plan {
            key: IdentityKey::random(),
            division: Division::new(total, granted, has_more, count),
            sample: first.records,
        };
        let mut pages = JoinSet::new();
        for offset in plan.division.offsets() {
            let (client, arguments) = (client.clone(), options.arguments.clone());
            pages.spawn(async move {
                let page = page(&client, resource, &arguments, limit, offset).await;
                page.map(|page| (offset, page))
            });
        }
        let mut read = Vec::new();
        while let Some(page) = pages.join_next().await {
            let panicked = |_| Error::new(ErrorKind::Internal, "a page request has panicked");
            read.push(page.map_err(panicked)??);
        }
        read.sort_by_key(|(offset, _)| *offset);
        for (offset, page) in read {
            plan.take(offset, page);
        }
        Ok(plan)
    }

    fn take(&mut self, offset: u64, page: Page) {
        let identities = page.records.iter().map(|record| record.identity(&self.key));
        let ids: Vec<Identity> = identities.collect();
        self.division.take(offset, total(&page), ids);
        if self.sample.len() < TableSchema::SAMPLE {
            self.sample.extend(page.records);
        }
    }

    fn parts(
        self,
        client: &Client,
        resource: Resource,
        options: &ScanOptions,
    ) -> Result<Vec<Part>> {
        let TableOptions { schema, on_new, .. } = &options.table;
        let on_new = match schema {
            Some(_) => *on_new,
            // Nobody has said which fields there are, so that a new one is no news.
            None => OnNew::Freeze,
        };
        let schema = options.table.schema_of(resource, &self.sample)?;
        let values = options.arguments.recorded(resource.shape().operation);
        let ids = (fastrand::u64(..), fastrand::u64(..));
        let plan = format!("{:016x}{:016x}", ids.0, ids.1);
        let pieces = self.division.pieces();
        let of = pieces.len() as u64;
        let parts = pieces.into_iter().zip(1..).map(|(piece, part)| {
            Part::new(Contents {
                plan: plan.clone(),
                part,
                of,
                resource: resource.name().to_owned(),
                service: service(&self.key, client.config()),
                page_size: options.page_size,
                consistency: options.consistency,
                parameters: values.clone().into_iter().collect(),
                schema: TableSchema::clone(&schema),
                on_new,
                identities: self.key,
                planned_records: piece.records(self.division.totals.1),
                piece,
                totals: self.division.totals,
            })
        });
        Ok(parts.collect())
    }
}

async fn page(
    client: &Client,
    resource: Resource,
    arguments: &Arguments,
    limit: Option<u64>,
    offset: u64,
) -> Result<Page> {
    let list = client.resource(resource).with(arguments.clone());
    list.page(limit, offset).await
}
