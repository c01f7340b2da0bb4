//! A small gzip body that unpacks to a large one.

use std::io;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

const MEBIBYTE: usize = 1 << 20;
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// `{"padding":"000..."}` with so many MiB of zeros, compressed.
///
/// After a full flush the compressor has forgotten all before it, so one mebibyte compressed once can be repeated.
pub(super) fn bomb(mebibytes: u32) -> io::Result<Vec<u8>> {
    let (before, after) = (br#"{"padding":""#, br#""}"#);
    let zeros = vec![b'0'; MEBIBYTE];
    let mut compress = Compress::new(Compression::best(), false);
    let mut out = HEADER.to_vec();
    let mut crc = Crc::new();
    crc.update(before);
    out.extend(deflate(&mut compress, before, FlushCompress::Full)?);
    let packed = deflate(&mut compress, &zeros, FlushCompress::Full)?;
    let mut crc_of_zeros = Crc::new();
    crc_of_zeros.update(&zeros);
    for _ in 0..mebibytes {
        out.extend_from_slice(&packed);
        crc.combine(&crc_of_zeros);
    }
    crc.update(after);
    out.extend(deflate(&mut compress, after, FlushCompress::Finish)?);
    out.extend_from_slice(&crc.sum().to_le_bytes());
    out.extend_from_slice(&crc.amount().to_le_bytes());
    Ok(out)
}

fn deflate(compress: &mut Compress, input: &[u8], flush: FlushCompress) -> io::Result<Vec<u8>> {
    // Zeros and two short texts: the output is far smaller than this.
    let mut out = Vec::with_capacity(MEBIBYTE);
    let status = compress.compress_vec(input, &mut out, flush)?;
    if status == Status::BufError {
        return Err(io::Error::other("the compressor got no room"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn it_unpacks_to_a_json_object_of_the_size() {
        let packed = bomb(5).unwrap();
        assert!(packed.len() < 5 * MEBIBYTE / 500);
        let mut text = String::new();
        GzDecoder::new(&packed[..])
            .read_to_string(&mut text)
            .unwrap();
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed["padding"].as_str().unwrap().len(), 5 * MEBIBYTE);
    }
}
