//! Bodies, decompressed piece by piece within the memory that their page may take.

use crate::request::memory::Claim;
use bytes::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;
use std::io::{self, Write};

/// Bodies have room for a multiple of this, so that the room of one that is gone fits the next.
const ROOM: usize = 16 * 1024;
/// So much is decompressed at a time: the best compression makes 264 KiB of it.
const STEP: usize = 256;

/// A body on its way.
pub(super) struct Body<'a> {
    bytes: BytesMut,
    most: usize,
    claim: Option<&'a mut Claim>,
    gzip: Option<MultiGzDecoder<Vec<u8>>>,
}

/// Why a body is not read any further.
pub(super) enum Stop {
    /// It is larger than it may be.
    TooLarge,
    /// It is not what its coding says.
    Gzip(io::Error),
}

impl<'a> Body<'a> {
    /// A body of `likely` bytes, and of `most` at most.
    pub(super) async fn new(
        likely: usize,
        most: usize,
        gzip: bool,
        claim: Option<&'a mut Claim>,
    ) -> Self {
        let mut body = Body {
            bytes: BytesMut::new(),
            most,
            claim,
            gzip: gzip.then(|| MultiGzDecoder::new(Vec::new())),
        };
        body.reserve(likely.min(most)).await;
        body
    }

    /// Takes in a piece as it came.
    pub(super) async fn push(&mut self, piece: &[u8]) -> Result<(), Stop> {
        let Some(mut gzip) = self.gzip.take() else {
            return self.append(piece).await;
        };
        for step in piece.chunks(STEP) {
            gzip.write_all(step).map_err(Stop::Gzip)?;
            self.append(gzip.get_ref()).await?;
            gzip.get_mut().clear();
        }
        self.gzip = Some(gzip);
        Ok(())
    }

    /// The whole body, after its last piece.
    pub(super) async fn finish(mut self) -> Result<Bytes, Stop> {
        if let Some(mut gzip) = self.gzip.take() {
            gzip.try_finish().map_err(Stop::Gzip)?;
            self.append(gzip.get_ref()).await?;
        }
        Ok(self.bytes.freeze())
    }

    /// What has come until now.
    pub(super) fn so_far(self) -> Bytes {
        self.bytes.freeze()
    }

    async fn append(&mut self, piece: &[u8]) -> Result<(), Stop> {
        let length = self.bytes.len() + piece.len();
        if length > self.most {
            return Err(Stop::TooLarge);
        }
        if length > self.bytes.capacity() {
            let doubled = (2 * self.bytes.capacity()).min(self.most);
            self.reserve(length.max(doubled)).await;
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// Makes room for so many bytes, once there is memory for them.
    async fn reserve(&mut self, bytes: usize) {
        let room = bytes.next_multiple_of(ROOM);
        if let Some(claim) = &mut self.claim {
            claim.grow(room).await;
        }
        self.bytes.reserve(room - self.bytes.len());
    }
}
