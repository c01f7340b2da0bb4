//! Finds the positions of identities, with five bytes for each place of a table.

/// Where identities are: positions in a table with open addressing, and beside each some bits of its hash.
pub(super) struct Index {
    /// Positions plus 1; 0 where there is none.
    places: Vec<u32>,
    tags: Vec<u8>,
    mask: usize,
}

impl Index {
    pub(super) fn new(rows: u64) -> Self {
        // A table that is at most four fifths full.
        let size = usize::try_from(rows + rows / 4 + 1).unwrap_or(usize::MAX / 2);
        let size = size.next_power_of_two();
        Index {
            places: vec![0; size],
            tags: vec![0; size],
            mask: size - 1,
        }
    }

    fn start(&self, identity: u128) -> (usize, u8) {
        ((identity as usize) & self.mask, (identity >> 120) as u8)
    }

    pub(super) fn insert(&mut self, identity: u128, position: u64) {
        let (mut at, tag) = self.start(identity);
        while self.places[at] != 0 {
            at = (at + 1) & self.mask;
        }
        // A list of more than four billion records would take ten years to read.
        self.places[at] = position as u32 + 1;
        self.tags[at] = tag;
    }

    /// Positions that may have this identity.
    pub(super) fn candidates(&self, identity: u128) -> Vec<u64> {
        let (mut at, tag) = self.start(identity);
        let mut found = Vec::new();
        while self.places[at] != 0 {
            if self.tags[at] == tag {
                found.push(u64::from(self.places[at] - 1));
            }
            at = (at + 1) & self.mask;
        }
        found
    }
}
