//! The name of the authority that issued a certificate, read from its DER form (RFC 5280).

/// The object identifiers of a common name and of an organization.
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ORGANIZATION: &[u8] = &[0x55, 4, 10];
/// The tag of a version, which may be absent.
const VERSION: u8 = 0xa0;
/// Limits the characters of a name.
const MAX_NAME_CHARS: usize = 100;

/// Returns the issuer's common name, otherwise its organization; `None` if it has neither.
pub(crate) fn issuer(certificate: &[u8]) -> Option<String> {
    let (certificate, _) = element(certificate)?;
    let (mut fields, _) = element(certificate)?;
    if fields.first() == Some(&VERSION) {
        (_, fields) = element(fields)?;
    }
    // The serial number and the signature algorithm.
    for _ in 0..2 {
        (_, fields) = element(fields)?;
    }
    let (mut names, _) = element(fields)?;
    let (mut common, mut organization) = (None, None);
    while !names.is_empty() {
        let (set, rest) = element(names)?;
        names = rest;
        let (attribute, _) = element(set)?;
        let (kind, value) = element(attribute)?;
        let (text, _) = element(value)?;
        match kind {
            COMMON_NAME => common = Some(text),
            ORGANIZATION => organization = Some(text),
            _ => {}
        }
    }
    let text = String::from_utf8_lossy(common.or(organization)?);
    Some(
        text.chars()
            .take(MAX_NAME_CHARS)
            .collect::<String>()
            .escape_debug()
            .to_string(),
    )
}

/// Returns the content of the first element, and what follows it.
fn element(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[_tag, first], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match first {
        0..0x80 => (usize::from(first), rest),
        _ => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = digits.iter().try_fold(0_usize, |sum, &digit| {
                sum.checked_mul(256)?.checked_add(usize::from(digit))
            });
            (length?, rest)
        }
    };
    rest.split_at_checked(length)
}
