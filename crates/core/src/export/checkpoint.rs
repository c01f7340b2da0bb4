//! The checkpoint of an unfinished export: how far it went, and which export it is of.

use super::encoder::Columns;
use super::piece::Piece;
use super::place::{Place, failed, open};
use super::unfinished::Unfinished;
use super::{Export, Format};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::{Consistency, Position, Receipt};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};

/// Changes whenever a checkpoint of before can no longer be resumed from.
const VERSION: u32 = 2;

/// A file that is larger is no checkpoint, which has some hundred kilobytes, and need not fill the memory.
const MOST_BYTES: u64 = 64 << 20;

/// What an export asks for; only the same one can be resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    resource: String,
    base_url: String,
    /// Whose list it is: at one address every client has its own. It is no secret.
    client_id: Option<String>,
    format: Format,
    page_size: Option<u64>,
    consistency: Consistency,
}

impl Question {
    pub(super) fn new(export: &Export, config: &Config) -> Self {
        let most = export.resource.shape().max_limit;
        Question {
            resource: export.resource.name().to_owned(),
            base_url: config.base_url().to_string(),
            client_id: config.client_id().map(str::to_owned),
            format: export.format,
            page_size: export.scan.page_size.or(most),
            consistency: export.scan.consistency,
        }
    }

    /// The names and values, for messages.
    fn fields(&self) -> [(&'static str, String); 6] {
        let page_size = self.page_size.map(|size| size.to_string());
        let client_id = self.client_id.clone();
        [
            ("resource", self.resource.clone()),
            ("base_url", self.base_url.clone()),
            ("client_id", client_id.unwrap_or_else(|| "nobody".into())),
            ("format", self.format.to_string()),
            (
                "page_size",
                page_size.unwrap_or_else(|| "the default".into()),
            ),
            (
                "consistency",
                format!("{:?}", self.consistency).to_lowercase(),
            ),
        ]
    }
}

/// How far an export went.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint {
    version: u32,
    pub(super) export: Question,
    /// The columns, in formats that have them.
    pub(super) columns: Option<Columns>,
    /// The part file, or those of the groups that have ended.
    pub(super) pieces: Vec<Piece>,
    /// Where the scan stands.
    pub(super) position: Position,
    /// What has been done up to there.
    pub(super) receipt: Receipt,
}

impl Checkpoint {
    pub(super) fn of(unfinished: &Unfinished, columns: Option<Columns>, receipt: Receipt) -> Self {
        Checkpoint {
            version: VERSION,
            export: unfinished.question.clone(),
            columns,
            pieces: unfinished.pieces.clone(),
            position: unfinished.position.clone(),
            receipt,
        }
    }

    /// The checkpoint at `place`, if there is one.
    ///
    /// # Errors
    /// `Io` when it cannot be read, or was written by another version.
    pub(super) fn load(place: &Place) -> Result<Option<Self>> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let path = place.checkpoint();
        let mut text = Vec::new();
        match open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path, &error)),
        }
        let refuse = |why: String| {
            let message = format!("{} {why}; {}", path.display(), place.way_out());
            Error::new(ErrorKind::Io, message)
        };
        let damaged = |error| refuse(format!("is no checkpoint, or damaged ({error})"));
        let Versioned { version } = serde_json::from_slice(&text).map_err(damaged)?;
        if version != VERSION {
            return Err(refuse(format!(
                "has version {version}, and this program writes version {VERSION}"
            )));
        }
        serde_json::from_slice(&text).map(Some).map_err(damaged)
    }

    /// Refuses a checkpoint of an export that asked for something else.
    ///
    /// # Errors
    /// `InvalidArgument`, naming what differs.
    pub(super) fn check(&self, wanted: &Question, place: &Place) -> Result<()> {
        for ((name, before), (_, now)) in self.export.fields().into_iter().zip(wanted.fields()) {
            if before != now {
                let message = format!(
                    "{name}: the unfinished export of {} is of {before}, and this one of {now}; {}",
                    place.path.display(),
                    place.way_out()
                );
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        }
        Ok(())
    }

    /// Writes it; whatever happens, there is a whole checkpoint afterwards, this one or that before.
    pub(super) fn store(&self, place: &Place) -> Result<()> {
        let (path, next) = (place.checkpoint(), place.next_checkpoint());
        let text = serde_json::to_vec(self).map_err(io::Error::from);
        let written = text.and_then(|text| {
            let mut file = place.create(&next)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&next, &path)
        });
        if let Err(error) = written {
            // It may be what fills the disk.
            let _ = fs::remove_file(&next);
            return Err(failed("write", &path, &error));
        }
        place.sync_folder()
    }
}
