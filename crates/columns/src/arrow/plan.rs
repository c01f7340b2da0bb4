//! Decides where the cells of a row come from: once for all records in a row that have the same fields.

use super::schema::{Column, Empty};
use std::collections::HashMap;
use talentdata_core::json;

/// What to do with records that have the same fields.
pub(super) struct Plan {
    /// For each column, where its value comes from.
    pub(super) origins: Vec<Origin>,
    /// Fields without a column, and those that occur more than once.
    pub(super) extra: Vec<usize>,
    /// Columns without a field whose empty cells would mean null.
    pub(super) absent: Vec<usize>,
}

/// Where the value of a column comes from: from a field, told by its place in the record.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    Absent,
    Only(usize),
    /// The last of several of that name, all of which are in `_extra`.
    Last(usize),
}

/// The plan for the record that was met last.
pub(super) struct Plans {
    /// The column of each name.
    columns: HashMap<String, usize>,
    /// The raw names of the fields that the plan is for.
    names: Vec<String>,
    plan: Plan,
}

impl Plans {
    pub(super) fn new(columns: &[Column]) -> Self {
        let names = columns.iter().map(|column| column.name.clone());
        let places = names.zip(0..).collect();
        Plans {
            plan: Plan::new(&[], columns, &places),
            columns: places,
            names: Vec::new(),
        }
    }

    /// The plan for a record with these fields; `columns` are those it was made for.
    pub(super) fn of(&mut self, members: &[(&str, &str)], columns: &[Column]) -> &Plan {
        let names = || members.iter().map(|(name, _)| *name);
        if !self.names.iter().map(String::as_str).eq(names()) {
            self.names = names().map(str::to_owned).collect();
            self.plan = Plan::new(&self.names, columns, &self.columns);
        }
        &self.plan
    }
}

impl Plan {
    fn new(names: &[String], columns: &[Column], places: &HashMap<String, usize>) -> Self {
        let place = |name: &String| json::text(name).and_then(|name| places.get(&*name).copied());
        let fields: Vec<Option<usize>> = names.iter().map(place).collect();
        let mut origins = vec![Origin::Absent; columns.len()];
        for (field, column) in fields.iter().enumerate() {
            if let Some(origin) = column.and_then(|column| origins.get_mut(column)) {
                *origin = match origin {
                    Origin::Absent => Origin::Only(field),
                    Origin::Only(_) | Origin::Last(_) => Origin::Last(field),
                };
            }
        }
        let only = |column: &usize| matches!(origins.get(*column), Some(Origin::Only(_)));
        let extra = fields.iter().enumerate();
        let extra = extra.filter(|(_, column)| !column.as_ref().is_some_and(only));
        let extra = extra.map(|(field, _)| field).collect();
        let absent = |(column, origin): (&Column, &Origin)| {
            column.empty == Empty::Null && matches!(origin, Origin::Absent)
        };
        let absent = (0..columns.len()).filter(|at| absent((&columns[*at], &origins[*at])));
        Plan {
            extra,
            absent: absent.collect(),
            origins,
        }
    }
}
