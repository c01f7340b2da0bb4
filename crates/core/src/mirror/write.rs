//! Writes a generation while its scan runs: what each record was before decides what is told of it, and where its text is.

use super::between::Between;
use super::change::ChangeCounts;
use super::claim::Claim;
use super::difference::{Difference, of_delivered};
use super::files::{Finished, NewFile};
use super::fingerprint::{Fingerprint, HashKey};
use super::manifest::ListEntry;
use super::order::{Order, Run};
use super::order_writer::OrderWriter;
use super::schema::Evolution;
use super::state::{State, StateWriter};
use super::table::{Mark, Tables, TextFile};
use super::texts::Texts;
use crate::arrow::Held;
use crate::error::{Error, ErrorKind, Result};
use crate::record::RawRecord;

/// A generation that is being written.
pub(super) struct Writing {
    pub(super) hash_key: HashKey,
    name: String,
    generation: u64,
    /// When the scan before this one began, in microseconds since 1970.
    pub(super) previous_started: Option<i64>,
    pub(super) previous_order: Order,
    pub(super) difference: Difference,
    pub(super) evolution: Evolution,
    pub(super) order: OrderWriter,
    pub(super) state: StateWriter<NewFile>,
    tables: Tables,
    changes_file: u32,
    rewritten: Option<(u32, TextFile)>,
    pub(super) texts: Texts,
    /// Room to work in.
    form: Vec<u8>,
    pub(super) counts: ChangeCounts,
    pub(super) records: u64,
    pub(super) missing: u64,
}

/// What a page has brought.
pub(super) struct Delivered {
    pub(super) records: Vec<RawRecord>,
    /// How many of them, at the beginning, are strays: they stand behind what was delivered before them.
    pub(super) behind: usize,
}

/// The files of a generation, complete and synced.
pub(super) struct Written {
    pub(super) current: Finished,
    pub(super) changes: Finished,
    pub(super) rewritten: Option<Finished>,
    pub(super) order: Finished,
    pub(super) state: Finished,
}

impl Writing {
    /// `before` is the list as the last sync has left it.
    pub(super) fn new(
        claim: &mut Claim,
        name: &str,
        generation: u64,
        before: Option<&ListEntry>,
        evolution: Evolution,
    ) -> Result<Self> {
        let (state, previous_order, previous_started) = match before {
            Some(list) => open_previous(claim, list)?,
            None => (State::empty(), Order::default(), None),
        };
        let target = format!("{name}/order/{generation:06}.parquet");
        let mut order = OrderWriter::new(claim.file(target)?, previous_order.files.clone())?;
        let changes = claim.file(format!("{name}/changes/{generation:06}.parquet"))?;
        let changes_file = order.files.number(changes.target());
        let current = claim.file(format!("{name}/current.parquet"))?;
        let tables = Tables::new(generation, &evolution.schema, current, changes)?;
        let state_file = claim.file(format!("{name}/state/{generation:06}.bin"))?;
        Ok(Writing {
            hash_key: claim.manifest.hash_key,
            name: name.to_owned(),
            generation,
            previous_started,
            previous_order,
            difference: Difference::new(state),
            evolution,
            order,
            state: StateWriter::new(state_file),
            tables,
            changes_file,
            rewritten: None,
            texts: Texts::new(&claim.root, before.into_iter().flat_map(ListEntry::files)),
            form: Vec::new(),
            counts: ChangeCounts::default(),
            records: 0,
            missing: 0,
        })
    }

    /// Takes the records of a page, which have arrived by `now`.
    pub(super) fn take_page(
        &mut self,
        claim: &mut Claim,
        page: &Delivered,
        now: i64,
    ) -> Result<()> {
        let (strays, others) = page.records.split_at(page.behind.min(page.records.len()));
        for record in strays {
            let between = Some(self.between(record, strays));
            self.take(claim, record, between, now)?;
        }
        (others.iter()).try_for_each(|record| self.take(claim, record, None, now))
    }

    /// Where a stray stands on its page, among records that are none.
    fn between(&mut self, stray: &RawRecord, strays: &[RawRecord]) -> Between {
        let is_stray = |index: usize| strays.iter().any(|other| other.index() == index);
        let before = (0..stray.index()).rev().find(|index| !is_stray(*index));
        let behind = (stray.index() + 1..stray.records_of_page()).find(|index| !is_stray(*index));
        let mut identity = |index: Option<usize>| {
            let beside = index.map(|index| stray.beside(index));
            beside.map_or(0, |record| self.hash_key.identity(&record, &mut self.form))
        };
        Between {
            before: identity(before),
            behind: identity(behind),
        }
    }

    /// Takes the next record of the scan; of a stray with where it stood.
    fn take(
        &mut self,
        claim: &mut Claim,
        record: &RawRecord,
        stray: Option<Between>,
        now: i64,
    ) -> Result<()> {
        let identity = self.hash_key.identity(record, &mut self.form);
        let bytes = self.hash_key.bytes(record);
        let known = self.difference.take(identity, bytes)?;
        let same_bytes = known.filter(|known| known.fingerprint.bytes == bytes);
        let contents = match same_bytes {
            Some(known) => known.fingerprint.contents,
            None => self.hash_key.contents(record, &mut self.form),
        };
        let operation = of_delivered(known.as_ref(), contents);
        let last_seen = match known {
            None => None,
            Some(known) => known.missing_since.or(self.previous_started),
        };
        let mark = operation.map(|operation| Mark {
            operation,
            key: self.hash_key.key(record, identity),
            last_seen,
            seen: now,
        });
        let (held, row) = self.push(record, true, mark)?;
        // What was written like this before was looked at then.
        if same_bytes.is_none() {
            self.evolution.note(record, held)?;
        }
        let (file, first) = match (row, known) {
            (Some(row), _) => (self.changes_file, row),
            (None, Some(known)) if same_bytes.is_some() => self.location(known.position)?,
            _ => self.push_rewritten(claim, record, identity)?,
        };
        let run = Run {
            file,
            first,
            rows: 1,
        };
        self.order.push(run, false)?;
        self.records += 1;
        let fingerprint = Fingerprint {
            identity,
            contents,
            bytes,
        };
        self.state.push(fingerprint, stray)
    }

    pub(super) fn push(
        &mut self,
        record: &RawRecord,
        is_current: bool,
        mark: Option<Mark>,
    ) -> Result<(Held, Option<u64>)> {
        if let Some(mark) = &mark {
            self.counts.add(mark.operation);
        }
        self.tables.push(record, is_current, mark)
    }

    /// A record that says the same, and is written otherwise than before.
    fn push_rewritten(
        &mut self,
        claim: &mut Claim,
        record: &RawRecord,
        identity: u128,
    ) -> Result<(u32, u64)> {
        let (file, texts) = match &mut self.rewritten {
            Some(rewritten) => rewritten,
            none => {
                let (name, generation) = (&self.name, self.generation);
                let file = claim.file(format!("{name}/rewritten/{generation:06}.parquet"))?;
                let number = self.order.files.number(file.target());
                none.insert((number, TextFile::new(file)?))
            }
        };
        let key = self.hash_key.key(record, identity);
        Ok((*file, texts.push(&key, record.as_str())?))
    }

    /// Where the text of a record of before is.
    pub(super) fn location(&self, position: u64) -> Result<(u32, u64)> {
        let found = self.previous_order.locate(position);
        found.ok_or_else(|| {
            let message = "internal error; please report it (a record of a mirror has no place)";
            Error::new(ErrorKind::Internal, message)
        })
    }

    /// Ends all files.
    pub(super) fn finish(self) -> Result<(Written, Evolution)> {
        let (current, changes) = self.tables.finish()?;
        let rewritten = self
            .rewritten
            .map(|(_, texts)| texts.finish())
            .transpose()?;
        let order = self.order.finish()?;
        let state = self.state.finish()?.finish()?;
        let written = Written {
            current,
            changes,
            rewritten,
            order,
            state,
        };
        Ok((written, self.evolution))
    }
}

/// What the sync before has left: its state, its order, and when its scan began.
fn open_previous(claim: &Claim, list: &ListEntry) -> Result<(State, Order, Option<i64>)> {
    let Some(last) = list.last() else {
        return Ok((State::empty(), Order::default(), None));
    };
    let path = super::files::place(&claim.root, &list.state.path);
    let file = super::files::open_intact(&claim.root, &list.state)?;
    let state = State::open(Box::new(file), path)?;
    let order = Order::read(&claim.root, &last.order_file)?;
    if !order.fits(&state) {
        let message = format!(
            "internal error; please report it ({} is not the order of {})",
            last.order_file.path, list.state.path
        );
        return Err(Error::new(ErrorKind::Internal, message));
    }
    Ok((state, order, crate::arrow::instant(&last.started)))
}
