//! Decides about the kept work of an unfinished export to the same path: refuse, resume or restart.

use super::Export;
use super::checkpoint::{Checkpoint, Resumable, differences, key};
use super::work::{CHECKPOINT, Found, WorkDirectory};
use crate::paths::part_of;
use chrono::{DateTime, Utc};
use serde_json::Value;
use std::fs;
use std::path::Path;
use talentdata_core::{Config, Error, Result};

/// Work that cannot be read, as messages describe it.
const UNREADABLE: &str = "its checkpoint is damaged or of another version of talentdata";

/// The choice about the kept work of an unfinished export to the same path. Work is at least one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptWork {
    /// Fails with `InvalidArgument` before anything is sent, and changes nothing.
    #[default]
    Refuse,
    /// Continues. If settings changed or the work is damaged, the export begins again, and its receipt says why.
    /// Work of another list is refused.
    Resume,
    /// Begins again. The work is discarded as soon as the first page has arrived.
    Restart,
}

impl KeptWork {
    /// Returns the choice for these two options.
    ///
    /// # Errors
    /// `InvalidArgument`, which names both, if both are true.
    pub fn of_options(resume: bool, restart: bool) -> Result<Self> {
        match (resume, restart) {
            (true, true) => Err(Error::invalid("resume, restart: set one of them, not both")),
            (true, false) => Ok(Self::Resume),
            (false, true) => Ok(Self::Restart),
            (false, false) => Ok(Self::Refuse),
        }
    }
}

/// The advice after a refusal, in the words of a language.
#[derive(Clone, Copy, Debug)]
pub struct WaysOut {
    /// The words that say how to continue.
    pub resume: &'static str,
    /// The words that say how to begin again.
    pub restart: &'static str,
}

impl WaysOut {
    /// The advice by the names of the options.
    pub const PLAIN: Self = WaysOut {
        resume: "set the option resume",
        restart: "set the option restart",
    };
}

/// Checks, before anything is sent, that none of these exports would discard kept work without a request. Changes
/// nothing.
/// `config` is `None` for records that come from no client. A path that another export is writing to, or that cannot be
/// written, passes: [`Export::run`] refuses it.
///
/// # Errors
/// `InvalidArgument`, which names all kept work and says what to do.
pub fn check_kept<'a>(
    exports: impl IntoIterator<Item = &'a Export>,
    config: Option<&Config>,
    ways: &WaysOut,
) -> Result<()> {
    let mut refusals: Vec<Refusal> = Vec::new();
    for export in exports {
        let Ok(Some(path)) = export.target.place() else {
            continue;
        };
        let Ok(found) = WorkDirectory::peek(&path) else {
            continue;
        };
        let KeptDecision::Refuse(refusal) = decide(export, config, found, &part_of(&path), ways)
        else {
            continue;
        };
        if WorkDirectory::is_claimed(&path) {
            continue;
        }
        // Each advice is given once.
        match refusals.iter_mut().find(|known| known.way == refusal.way) {
            Some(known) => known.what += &format!("; {}", refusal.what),
            None => refusals.push(refusal),
        }
    }
    let texts: Vec<String> = refusals.iter().map(Refusal::text).collect();
    if texts.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(texts.join("; ")))
}

/// The decision of an export about kept work.
pub(super) enum KeptDecision {
    /// The export begins, because there is no kept work.
    Begin,
    /// The export continues.
    Continue(Box<Resumable>),
    /// The export begins again, for this reason.
    Discard(String),
    /// The export must not discard the work.
    Refuse(Refusal),
}

/// An error about kept work that an export must not discard.
pub(super) struct Refusal {
    /// A description of the kept work and its place.
    what: String,
    /// The advice.
    way: String,
}

impl Refusal {
    pub(super) fn into_error(self) -> Error {
        Error::invalid(self.text())
    }

    fn text(&self) -> String {
        format!("{}; {}", self.what, self.way)
    }
}

/// Decides about the kept work in the directory `part`. A continuation must still compare the files with their digests.
pub(super) fn decide(
    export: &Export,
    config: Option<&Config>,
    found: Found,
    part: &Path,
    ways: &WaysOut,
) -> KeptDecision {
    let (begun, progress) = match found {
        Found::Nothing => return KeptDecision::Begin,
        Found::Unreadable => (Value::Null, None),
        Found::Checkpoint(found) => match *found {
            Checkpoint { progress: None, .. } => return KeptDecision::Begin,
            Checkpoint { key, progress, .. } => (key, progress),
        },
    };
    let shown = part.display();
    let restart = format!("to discard them and begin again, {}", ways.restart);
    let refuse = |what: String, way: String| KeptDecision::Refuse(Refusal { what, way });
    let Some(config) = config else {
        // An export of records in memory keeps no work, so the work is another export's.
        let what = format!("{shown} holds records of an unfinished export from the service");
        let way = "finish that export, write to another path, or remove the directory";
        return refuse(what, way.to_owned());
    };
    if export.kept == KeptWork::Restart {
        return KeptDecision::Discard("a restart was requested".to_owned());
    }
    let Some(progress) = progress else {
        if export.kept == KeptWork::Resume {
            return KeptDecision::Discard(UNREADABLE.to_owned());
        }
        let what = format!("{shown} holds records of an unfinished export, but {UNREADABLE}");
        return refuse(what, restart);
    };
    let key = key(export, Some(config));
    let (list, differs) = (&begun["resource"], differences(&key, &begun).join(", "));
    let is_other_list = *list != key["resource"];
    if export.kept == KeptWork::Resume && !is_other_list {
        return if differs.is_empty() {
            KeptDecision::Continue(progress.into())
        } else {
            KeptDecision::Discard(differs)
        };
    }
    let list = list.as_str().unwrap_or_default();
    let what = format!(
        "{shown} holds {} records of an unfinished export of {list}{}",
        progress.records(),
        kept_at(part)
    );
    if is_other_list {
        let now = export.resource;
        let way = format!("this export is of {now}: write to another path, or {restart}");
        return refuse(what, way);
    }
    if differs.is_empty() {
        return refuse(what, format!("to continue, {}; {restart}", ways.resume));
    }
    let what = format!("{what} with other settings ({differs})");
    let way = format!(
        "to continue, use those settings again and {}; {restart}",
        ways.resume
    );
    refuse(what, way)
}

/// Returns the words for the time at which the checkpoint of this work directory was written.
fn kept_at(part: &Path) -> String {
    let written = fs::metadata(part.join(CHECKPOINT)).and_then(|found| found.modified());
    let time = |at| DateTime::<Utc>::from(at).format(", kept at %Y-%m-%d %H:%M UTC");
    written.map_or(String::new(), |at| time(at).to_string())
}
