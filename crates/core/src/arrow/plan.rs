//! Decides, once for all records of a page with the same fields, where the cells of a row come from.

use super::schema::{Column, Empty};
use crate::json;
use crate::page::PageText;
use crate::record::RawRecord;
use std::collections::HashMap;
use std::sync::Arc;

/// What to do with records of one layout.
pub(super) struct Plan {
    /// For each column, where its value comes from.
    pub(super) origins: Vec<Origin>,
    /// Fields without a column, and those that occur more than once.
    pub(super) extra: Vec<usize>,
    /// Columns without a field whose empty cells would mean null.
    pub(super) absent: Vec<usize>,
}

/// Where the value of a column comes from: from a field, told by its place in the layout.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    Absent,
    Only(usize),
    /// The last of several of that name, all of which are in `_extra`.
    Last(usize),
}

/// The plans for the page that was met last.
pub(super) struct Plans {
    /// The column of each name.
    columns: HashMap<String, usize>,
    page: Option<Arc<PageText>>,
    plans: Vec<Option<Plan>>,
}

impl Plans {
    pub(super) fn new(columns: &[Column]) -> Self {
        let names = columns.iter().map(|column| column.name.clone());
        Plans {
            columns: names.zip(0..).collect(),
            page: None,
            plans: Vec::new(),
        }
    }

    /// The plan for a record and those like it; `columns` are those it was made for.
    pub(super) fn of(&mut self, record: &RawRecord, columns: &[Column]) -> &Plan {
        let page = record.page();
        if !self
            .page
            .as_ref()
            .is_some_and(|last| Arc::ptr_eq(last, page))
        {
            self.page = Some(Arc::clone(page));
            self.plans.clear();
            self.plans.resize_with(page.layouts().max(1), || None);
        }
        let places = &self.columns;
        self.plans[record.layout()].get_or_insert_with(|| Plan::new(record, columns, places))
    }
}

impl Plan {
    fn new(record: &RawRecord, columns: &[Column], places: &HashMap<String, usize>) -> Self {
        let place = |name| json::text(name).and_then(|name| places.get(&*name).copied());
        let fields: Vec<Option<usize>> = record.names().map(place).collect();
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
