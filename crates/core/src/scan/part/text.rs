//! Parts as texts: written for other processes, and read back only where nothing was altered on the way.

use super::{Anchor, Contents, Part};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Consistency;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use talentdata_types::Resource;

/// The version of the text that this library writes and reads.
const VERSION: u32 = 1;
/// A longer text is no part.
const MOST_BYTES: usize = 64 << 20;

/// The text of a part.
#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    talentdata_part: u32,
    /// The BLAKE3 of the contents, in hexadecimal digits.
    checksum: String,
    #[serde(borrow)]
    contents: &'a RawValue,
}

/// What the text of any version has.
#[derive(Deserialize)]
struct Versioned {
    talentdata_part: u32,
}

impl Part {
    /// The part as JSON text.
    ///
    /// # Errors
    /// `Internal`, which only a defect can cause.
    pub fn to_json(&self) -> Result<String> {
        let defect = |error: serde_json::Error| Error::new(ErrorKind::Internal, error.to_string());
        let contents = serde_json::value::to_raw_value(self.contents()).map_err(defect)?;
        let envelope = Envelope {
            talentdata_part: VERSION,
            checksum: checksum(&contents),
            contents: &contents,
        };
        serde_json::to_string(&envelope).map_err(defect)
    }

    /// Reads the JSON text of a part.
    ///
    /// # Errors
    /// `InvalidArgument`, when it is not a part, or of another version, or was altered.
    pub fn from_json(text: &str) -> Result<Self> {
        if text.len() > MOST_BYTES {
            return Err(wrong("the text is too long for a part"));
        }
        let versioned: Versioned =
            serde_json::from_str(text).map_err(|_| wrong("it is not a part of talentdata"))?;
        if versioned.talentdata_part != VERSION {
            return Err(wrong(&format!(
                "it has version {}, but this library reads version {VERSION}; plan and read with the same version",
                versioned.talentdata_part
            )));
        }
        let altered = || wrong("it was altered or cut off since it was planned");
        let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|_| altered())?;
        if checksum(envelope.contents) != envelope.checksum {
            return Err(altered());
        }
        let contents: Contents =
            serde_json::from_str(envelope.contents.get()).map_err(|_| altered())?;
        match contents.is_sound() {
            true => Ok(Part::new(contents)),
            false => Err(altered()),
        }
    }
}

impl Contents {
    /// Whether a plan could have made it: the checksum keeps nobody from writing a part by hand.
    fn is_sound(&self) -> bool {
        let Ok(resource) = self.resource.parse::<Resource>() else {
            return false;
        };
        let (begin, end) = (&self.piece.begin, &self.piece.end);
        (1..=self.of).contains(&self.part)
            && (self.part == 1) == begin.is_none()
            && (self.part == self.of) == end.is_none()
            && [begin, end].into_iter().flatten().all(Anchor::is_sound)
            && self.consistency != Consistency::Snapshot
            && self.schema.check_resource(resource).is_ok()
    }
}

fn checksum(contents: &RawValue) -> String {
    blake3::hash(contents.get().as_bytes()).to_hex().to_string()
}

fn wrong(message: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("part: {message}"))
}
