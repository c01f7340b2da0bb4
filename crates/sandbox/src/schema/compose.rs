//! Objects and arrays of what is made.

use serde_json::{Map, Value};

use super::check::same;
use super::make::{MOST_VALUES, Maker};
use super::{Shape, Way, all_of};

impl Maker<'_> {
    pub(super) fn object(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let mut out = Map::new();
        for name in shape.names() {
            let schema = all_of(shape.property(name));
            let required = shape.requires(name);
            let absent = self.is_brief() || (self.varied && self.rng.one_in(8));
            if Way::Response.lacks(self.schemas, &schema) || (absent && !required) {
                continue;
            }
            match self.value(&schema) {
                Some(value) => drop(out.insert(name.to_owned(), value)),
                None if required => return None,
                None => {}
            }
        }
        let additional = shape.additional();
        let any = Value::Bool(true);
        let others = additional.as_ref().unwrap_or(&any);
        for name in shape
            .required()
            .filter(|name| shape.property(name).is_empty())
        {
            let value = self.value(others)?;
            out.insert(name.to_owned(), value);
        }
        let least = shape
            .values("minProperties")
            .filter_map(Value::as_u64)
            .max();
        let usual = match shape.names().is_empty() && additional.is_some() && !self.is_brief() {
            true => 2,
            false => 0,
        };
        let most = shape
            .values("maxProperties")
            .filter_map(Value::as_u64)
            .min();
        let least = least.unwrap_or_default();
        let wanted = least.max(usual).min(most.unwrap_or(u64::MAX));
        // Names may repeat, and there may be fewer than are wanted.
        for number in 1..=wanted.saturating_mul(8).min(MOST_VALUES as u64) {
            if out.len() as u64 >= wanted {
                break;
            }
            let name = self.name(shape, number);
            match self.value(others) {
                Some(value) => drop(out.insert(name, value)),
                None if least > 0 => return None,
                None => break,
            }
        }
        Some(out.into())
    }

    /// A name for a property that is not documented.
    fn name(&mut self, shape: &Shape<'_>, number: u64) -> String {
        let names: Vec<&Value> = shape.values("propertyNames").collect();
        let documented = (!names.is_empty())
            .then(|| self.value(&all_of(names)))
            .flatten();
        let documented = documented.as_ref().and_then(Value::as_str);
        documented.map_or_else(|| format!("key{number}"), str::to_owned)
    }

    pub(super) fn array(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let bound = |key| shape.values(key).filter_map(Value::as_u64);
        let first = shape
            .parts
            .iter()
            .find_map(|part| part.get("prefixItems")?.as_array());
        let first = first.map_or(&[][..], Vec::as_slice);
        let nothing_else = shape.values("items").any(|one| *one == Value::Bool(false));
        let least = bound("minItems").max().unwrap_or_default();
        let usual = match (self.is_brief(), self.varied) {
            (true, _) => 0,
            (_, true) => self.rng.below(4),
            _ => 2,
        };
        let usual = usual.max(first.len() as u64);
        let most = bound("maxItems").min().unwrap_or(u64::MAX);
        let most = if nothing_else {
            most.min(first.len() as u64)
        } else {
            most
        };
        let wanted = usual.max(least).min(most);
        let unique = shape
            .values("uniqueItems")
            .any(|one| *one == Value::Bool(true));
        let items = shape.items();
        let mut out: Vec<Value> = Vec::new();
        // Elements that have to differ may need several attempts.
        for _ in 0..wanted.saturating_mul(8).min(MOST_VALUES as u64) {
            if out.len() as u64 >= wanted {
                break;
            }
            let schema = first.get(out.len()).unwrap_or(&items);
            let Some(value) = self.value(schema) else {
                break;
            };
            if !unique || !out.iter().any(|one| same(one, &value)) {
                out.push(value);
            }
        }
        (out.len() as u64 >= least.min(most)).then(|| out.into())
    }
}
