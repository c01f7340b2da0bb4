//! A part of a list: what one worker reads, as a small text that any process takes.
//!
//! A list in parts is cut in the middle of *anchor pages*. The records of the first half of an anchor page are the last
//! ones of the part before, and those of the second half are the first ones of the part behind. An anchor page was
//! contiguous when it was read. So a part begins joined to the first half, as a resumed scan is joined to its
//! checkpoint, and it ends at the first record of the second half of the next anchor page: whatever stood in the list all
//! the time is in exactly one part, wherever inserts and deletes have moved the anchors in the meantime.

mod anchor;
mod division;
mod text;

pub(crate) use anchor::Anchor;
pub(crate) use division::{Division, Piece};

use super::{Consistency, Receipt, ScanOptions};
use crate::arguments::Arguments;
use crate::arrow::{OnNew, TableOptions, TableSchema};
use crate::error::{Error, ErrorKind, Result};
use crate::record::IdentityKey;
use crate::settings::Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::hash::Hasher;
use std::sync::Arc;
use talentdata_types::Resource;

/// A part of a list, made by [`List::parts`](crate::List::parts) and read by [`Client::scan_part`](crate::Client::scan_part).
///
/// It goes to other processes and hosts as [`to_json`](Self::to_json), which holds no secret, no token and no
/// client id. It may be read several times, and each time is complete in itself.
#[derive(Clone, PartialEq)]
pub struct Part(Arc<Contents>);

/// What a part consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contents {
    /// The random id that all parts of one plan share.
    pub(crate) plan: String,
    /// Its number, from 1, and how many parts there are.
    pub(crate) part: u64,
    pub(crate) of: u64,
    pub(crate) resource: String,
    /// Tells the service and client of the plan from others, by a hash with the key of the identities.
    pub(crate) service: String,
    pub(crate) page_size: Option<u64>,
    pub(crate) consistency: Consistency,
    pub(crate) parameters: Map<String, Value>,
    /// The columns of all parts.
    pub(crate) schema: TableSchema,
    pub(crate) on_new: OnNew,
    /// How identities are hashed.
    pub(crate) identities: IdentityKey,
    pub(crate) piece: Piece,
    /// The lowest and the highest total that the plan has seen.
    pub(crate) totals: (u64, u64),
    /// How many records it would bring if the list had stayed as it was.
    pub(crate) planned_records: u64,
}

/// Which part of a list a scan has read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartRead {
    /// The id that all parts of one plan share.
    pub plan: String,
    /// Its number, from 1.
    pub part: u64,
    /// How many parts the plan has.
    pub of: u64,
    /// The lowest total that the service reported for the plan or for this part.
    pub total_lowest: u64,
    /// The highest one.
    pub total_highest: u64,
    /// How many records it brings if the list stays as it was.
    pub planned_records: u64,
}

impl Part {
    pub(crate) fn new(contents: Contents) -> Self {
        Part(Arc::new(contents))
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.0
    }

    /// The random id that all parts of one plan share.
    pub fn plan(&self) -> &str {
        &self.0.plan
    }

    /// Its number, from 1.
    pub fn number(&self) -> u64 {
        self.0.part
    }

    /// How many parts the plan has.
    pub fn of(&self) -> u64 {
        self.0.of
    }

    /// The list.
    pub fn resource(&self) -> Resource {
        // Checked when it was made or read.
        self.0.resource.parse().unwrap_or(Resource::Contacts)
    }

    /// How many records it would bring if the list had stayed as it was.
    pub fn records(&self) -> u64 {
        self.0.planned_records
    }

    /// The columns of its record batches, the same in every part of the plan.
    pub fn schema(&self) -> &TableSchema {
        &self.0.schema
    }

    /// The options of a scan that reads it.
    pub fn options(&self) -> ScanOptions {
        ScanOptions {
            consistency: self.0.consistency,
            page_size: self.0.page_size,
            arguments: Arguments::new(self.0.parameters.clone(), None),
            table: TableOptions {
                columns: self.0.schema.columns,
                schema: Some(Arc::new(self.0.schema.clone())),
                on_new: self.0.on_new,
            },
            part: Some(self.clone()),
            ..ScanOptions::default()
        }
    }

    pub(crate) fn read(&self) -> PartRead {
        PartRead {
            plan: self.0.plan.clone(),
            part: self.0.part,
            of: self.0.of,
            total_lowest: self.0.totals.0,
            total_highest: self.0.totals.1,
            planned_records: self.records(),
        }
    }

    /// Whether these options read it with this client.
    pub(crate) fn check(
        &self,
        resource: Resource,
        options: &ScanOptions,
        config: &Config,
    ) -> Result<()> {
        let wrong = |message: String| Err(Error::new(ErrorKind::InvalidArgument, message));
        if resource != self.resource() {
            return wrong(format!(
                "part: it is a part of {}, not of {}",
                self.0.resource,
                resource.name()
            ));
        }
        if service(&self.0.identities, config) != self.0.service {
            return wrong(
                "part: it was planned with another base_url or client_id than this client's".into(),
            );
        }
        if options.resume.is_some() {
            return wrong(
                "part: a part cannot be resumed; read it again from its beginning".into(),
            );
        }
        let planned = self.options();
        let same = |options: &ScanOptions| {
            let recorded = options.arguments.recorded(resource.shape().operation);
            (options.consistency, options.page_size, recorded)
        };
        if same(options) != same(&planned) {
            return wrong(
                "part: consistency, page_size and filters are those of the plan; leave them out"
                    .into(),
            );
        }
        Ok(())
    }
}

/// What tells a service, and the client that asks it, from others.
pub(crate) fn service(key: &IdentityKey, config: &Config) -> String {
    let mut hasher = key.hasher();
    hasher.write(config.base_url().to_string().as_bytes());
    hasher.write_u8(0);
    hasher.write(config.client_id().unwrap_or_default().as_bytes());
    let (low, high) = siphasher::sip128::Hasher128::finish128(&hasher).as_u64();
    format!("{high:016x}{low:016x}")
}

impl ScanOptions {
    /// The part of the list that the receipt names.
    pub(super) fn part_read(&self) -> Option<PartRead> {
        self.part.as_ref().map(Part::read)
    }
}

impl Receipt {
    /// Widens the range of the totals that were reported.
    pub(super) fn note_total(&mut self, total: u64) {
        if let Some(part) = &mut self.part {
            part.total_lowest = part.total_lowest.min(total);
            part.total_highest = part.total_highest.max(total);
        }
    }
}

impl std::fmt::Debug for Part {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Contents {
            resource, part, of, ..
        } = &*self.0;
        write!(formatter, "Part({resource}, {part} of {of})")
    }
}
