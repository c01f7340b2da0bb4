//! What a list serves: records and pages as its document has them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::data::json::Object;
use crate::data::{IdForm, scramble};
use crate::list::List;
use crate::options::Options;
use crate::schema::{Maker, Way, all_of};
use crate::spec::{Success, spec};

/// Everything about a list that follows from its document and the options, found out once.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) default_limit: u64,
    pub(crate) max_limit: u64,
    pub(crate) status: u16,
    pub(crate) content_type: Cow<'static, str>,
    /// Members of the page that are neither records nor pagination, by name and as JSON.
    pub(crate) members: Vec<(String, String)>,
    /// Members of the pagination object beside the four of section 2.
    pub(crate) pagination: Vec<(String, String)>,
    pub(crate) id: IdForm,
    /// Whether records have an `id` at all: an `id` that a closed schema does not document is left out.
    pub(crate) has_id: bool,
    /// The schema of a record; none where the document does not show its fields.
    pub(crate) record: Option<Value>,
    pub(crate) source: Source,
}

/// Where records come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// The sample records as they are.
    Samples,
    /// Sample records made to fit the document; these documented members they never have.
    Fitted(Vec<String>),
    /// The document.
    Made,
}

/// The members of the pagination object (section 2).
const PAGINATION: [&str; 4] = ["total", "limit", "offset", "hasMore"];

/// Sample records that are held against the document: the first ones, and some of those with late members.
const SAMPLES: u64 = 100;

impl Plan {
    pub(crate) fn new(list: &List, options: &Options) -> Self {
        let success = list.operation().map(|operation| &operation.success);
        let max_limit = match options.max_limit {
            given if given == Options::default().max_limit => list.max_limit(),
            given => given,
        };
        let mut plan = Self {
            default_limit: list.default_limit(),
            max_limit,
            status: success.map_or(200, |success| success.status),
            content_type: success
                .and_then(Success::content_type)
                .unwrap_or("application/json")
                .into(),
            members: Vec::new(),
            pagination: Vec::new(),
            id: list.id_form(),
            has_id: true,
            record: None,
            source: Source::Samples,
        };
        match success {
            Some(success) => plan.document(list, options.seed, &success.schema),
            None => plan.members.extend(success_flag(list, false)),
        }
        plan
    }

    /// Takes over what the schema of a page says.
    fn document(&mut self, list: &List, seed: u64, schema: &Value) {
        let schemas = &spec().schemas;
        let page = schemas.shape(schema);
        let mut maker = Maker::new(schemas, list.key(seed));
        let key = list.served_key();
        self.members = others(&mut maker, schema, &[key, "pagination"]);
        if !self.members.iter().any(|(name, _)| name == "success") {
            self.members.extend(success_flag(list, page.is_closed()));
        }
        self.pagination = others(
            &mut maker,
            &all_of(page.property("pagination")),
            &PAGINATION,
        );
        let records = all_of(page.property(key));
        let record = schemas.shape(&records).items();
        let shape = schemas.shape(&record);
        if !shape.has_properties() {
            return;
        }
        let id = shape.property("id");
        self.has_id = !id.is_empty() || !shape.is_closed();
        if !id.is_empty() {
            self.id = self.id.allowed(schemas, &all_of(id));
        }
        self.source = match list.has_samples() {
            true => self.fitted(list, seed, &record),
            false => Source::Made,
        };
        self.record = Some(record);
    }

    /// Whether the sample records are as documented.
    fn fitted(&self, list: &List, seed: u64, record: &Value) -> Source {
        let schemas = &spec().schemas;
        let late = list.default_size().saturating_sub(SAMPLES);
        let mut seen = BTreeSet::new();
        let mut fits = true;
        for number in (0..SAMPLES).chain(late..late + SAMPLES) {
            let sample = self.sample(list, seed, number, 0);
            fits &= schemas.accepts(record, &sample.clone().into(), Way::Response);
            seen.extend(sample.into_iter().map(|(name, _)| name));
        }
        let names = schemas.shape(record).names().into_iter();
        let absent: Vec<String> = names
            .filter(|name| !seen.contains(*name))
            .map(str::to_owned)
            .collect();
        match fits && absent.is_empty() {
            true => Source::Samples,
            false => Source::Fitted(absent),
        }
    }

    /// Record `number` as the sample data have it, with its `id`.
    fn sample(&self, list: &List, seed: u64, number: u64, version: u32) -> Map<String, Value> {
        let mut out = Vec::new();
        let mut object = Object::new(&mut out);
        object.value("id", |out| self.id.write(list.key(seed), number, out));
        list.write_members(seed, number, version, &mut object);
        object.end();
        serde_json::from_slice(&out).unwrap_or_default()
    }

    /// The members of record `number` after `version` updates, without its `id`.
    pub(crate) fn members(
        &self,
        list: &List,
        seed: u64,
        number: u64,
        version: u32,
    ) -> Map<String, Value> {
        let schemas = &spec().schemas;
        let mut maker = Maker::new(
            schemas,
            list.key(seed) ^ scramble(number) ^ u64::from(version),
        )
        .varied();
        let any = Value::Bool(true);
        let schema = self.record.as_ref().unwrap_or(&any);
        let value = match &self.source {
            Source::Made => maker.make(schema),
            Source::Samples => self.sample(list, seed, number, version).into(),
            Source::Fitted(absent) => {
                let sample = self.sample(list, seed, number, version);
                let mut value = maker.fit(schema, sample.into());
                let shape = schemas.shape(schema);
                for name in absent {
                    let made = maker.make(&all_of(shape.property(name)));
                    if value.get(name).is_none() && !number.is_multiple_of(4) {
                        maker.put(schema, &mut value, name, made);
                    }
                }
                value
            }
        };
        let Value::Object(mut members) = value else {
            return Map::new();
        };
        members.shift_remove("id");
        members
    }
}

/// The documented members of an object but for some, by name and as JSON.
fn others(maker: &mut Maker<'_>, schema: &Value, but: &[&str]) -> Vec<(String, String)> {
    let members = match maker.make(schema) {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let members = members
        .into_iter()
        .filter(|(name, _)| !but.contains(&name.as_str()));
    let documented = |name: &str| !spec().schemas.shape(schema).property(name).is_empty();
    members
        .filter(|(name, _)| documented(name))
        .map(|(name, value)| (name, value.to_string()))
        .collect()
}

/// Where the document does not show it, only the core CRM has the flag, which is the sandbox's choice.
fn success_flag(list: &List, closed: bool) -> Option<(String, String)> {
    let flag = ("success".to_owned(), "true".to_owned());
    (list.group() == "corecrm" && !closed).then_some(flag)
}
