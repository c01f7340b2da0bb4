//! Reads JSON text token by token, strictly, eight bytes at a time where it can.
//!
//! Every method returns `None` where the text is not JSON; the place is then of no use any more.

/// Deeper nesting than this is refused, as the JSON library does.
const DEEPEST: usize = 128;

/// A place in a text.
pub(super) struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Reader { text, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The text from `start` to here.
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        self.text.get(start..self.at).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(super) fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Whether nothing but white space is left.
    pub(super) fn end(&mut self) -> bool {
        self.space();
        self.at == self.text.len()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Enters an object or array; whether it holds anything.
    pub(super) fn open(&mut self, open: u8, close: u8) -> Option<bool> {
        self.expect(open)?;
        self.space();
        let empty = self.peek()? == close;
        self.at += usize::from(empty);
        Some(!empty)
    }

    /// After a member or item: whether another one follows.
    pub(super) fn more(&mut self, close: u8) -> Option<bool> {
        self.space();
        let byte = self.peek()?;
        self.at += 1;
        if byte == close {
            return Some(false);
        }
        self.space();
        (byte == b',').then_some(true)
    }

    /// A member's raw name, up to the value that follows.
    pub(super) fn name(&mut self) -> Option<&'a [u8]> {
        let start = self.at + 1;
        self.string()?;
        let name = self.text.get(start..self.at - 1)?;
        self.space();
        self.expect(b':')?;
        self.space();
        Some(name)
    }

    /// A value, at this depth of nesting.
    pub(super) fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.string(),
            b'{' if depth < DEEPEST => {
                let mut more = self.open(b'{', b'}')?;
                while more {
                    self.name()?;
                    self.value(depth + 1)?;
                    more = self.more(b'}')?;
                }
                Some(())
            }
            b'[' if depth < DEEPEST => {
                let mut more = self.open(b'[', b']')?;
                while more {
                    self.value(depth + 1)?;
                    more = self.more(b']')?;
                }
                Some(())
            }
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => self.number(),
        }
    }

    fn literal(&mut self, word: &[u8]) -> Option<()> {
        self.text
            .get(self.at..)?
            .starts_with(word)
            .then(|| self.at += word.len())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// A member's raw name that is most likely `guess`, up to the value that follows.
    pub(super) fn name_like(&mut self, guess: &[u8]) -> Option<&'a [u8]> {
        // Comparing is cheaper than looking for the end.
        let text = self.text.get(self.at..)?;
        let end = guess.len() + 1;
        if text.get(end..end + 2) == Some(b"\":")
            && text.get(1..end) == Some(guess)
            && text[0] == b'"'
        {
            self.at += end + 2;
            self.space();
            return text.get(1..end);
        }
        self.name()
    }

    #[inline]
    pub(super) fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            self.plain_bytes();
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.escape()?,
                // Control characters have to be escaped.
                _ => return None,
            }
        }
    }

    /// Passes over what is neither quote, backslash nor control character.
    #[inline]
    fn plain_bytes(&mut self) {
        while let Some(word) = self.text.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            let special = special_bytes(u64::from_le_bytes(*word));
            if special != 0 {
                self.at += special.trailing_zeros() as usize / 8;
                return;
            }
            self.at += 8;
        }
        while self
            .peek()
            .is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20))
        {
            self.at += 1;
        }
    }

    fn escape(&mut self) -> Option<()> {
        let length = match self.text.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
            b'u' => {
                let digits = self.text.get(self.at + 2..self.at + 6)?;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(6)?
            }
            _ => return None,
        };
        self.at += length;
        Some(())
    }
}

/// Marks the bytes of a word that are quotes, backslashes or control characters; of several, only the
/// lowest mark is certain.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
    // A subtraction borrows into the high bit of a byte that is too small.
    let quotes = (word ^ QUOTES).wrapping_sub(ONES) & !(word ^ QUOTES);
    let backslashes = (word ^ BACKSLASHES).wrapping_sub(ONES) & !(word ^ BACKSLASHES);
    let controls = word.wrapping_sub(SPACES) & !word;
    (quotes | backslashes | controls) & HIGH
}
