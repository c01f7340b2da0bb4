//! What stood between the values of the objects met so far, so that the next object is compared instead of read.
//!
//! A separator runs from an object's brace, or from the end of a value, to the next value: `{"id":` or
//! `,"name": `. Objects of a list mostly have the same separators in the same order; the tree of all orders met
//! has a step for each separator, and for each step the separators that came after it.

use super::reader::Text;
use super::structural_index::{Layout, Span};
use wide::u8x16;

/// As many of the separators known at a place are tried; a service that uses names as data has no end of them.
const TRIED: usize = 8;
/// As many are remembered; more are a sign of names used as data, which do not come again.
const MOST: usize = 16_384;
/// No step, no layout.
const NONE: u32 = u32::MAX;

/// The separators of a text.
#[derive(Default)]
pub(super) struct KeyTrie<'a> {
    steps: Vec<Step<'a>>,
}

/// A separator after the separators before it, or where objects begin.
struct Step<'a> {
    separator: &'a [u8],
    /// How it begins, filled up with zeros.
    start: [u8; 16],
    /// The raw name in it.
    name: Span,
    before: u32,
    /// The separator after it that was met last; from there on, by `other`, those met before.
    after: u32,
    other: u32,
    /// Where the objects in its value begin.
    inside: u32,
    /// The layout of the records that end here.
    layout: u32,
}

impl<'a> KeyTrie<'a> {
    /// Whether so many separators are known that names must be data.
    pub(super) fn is_full(&self) -> bool {
        self.steps.len() > MOST
    }

    /// A place where objects begin.
    pub(super) fn begin(&mut self) -> u32 {
        self.push(b"", Span::default(), NONE, NONE)
    }

    /// Where the records of an array begin, which may so far have begun at `begin`.
    #[inline]
    pub(super) fn again(&mut self, begin: u32) -> u32 {
        if !self.is_full() {
            return begin;
        }
        self.steps.clear();
        self.begin()
    }

    /// Where the objects in the value behind a separator begin.
    pub(super) fn inside(&mut self, step: u32) -> u32 {
        let known = self
            .steps
            .get(step as usize)
            .map_or(NONE, |step| step.inside);
        if known != NONE {
            return known;
        }
        let begin = self.begin();
        if let Some(step) = self.steps.get_mut(step as usize) {
            step.inside = begin;
        }
        begin
    }

    /// The known separator that stands at `at` after the one at `step`, and where its value begins.
    #[inline(always)]
    pub(super) fn follow(&self, text: Text<'_>, step: u32, at: usize) -> Option<(u32, usize)> {
        let next = self.steps.get(step as usize)?.after;
        let step = self.steps.get(next as usize)?;
        let (next, value) = match step.passes(text, at) {
            Some(value) => (next, value),
            None => self.follow_other(text, step.other, at)?,
        };
        // Where the object before had less white space.
        Some((next, text.space(value)))
    }

    fn follow_other(&self, text: Text<'_>, mut next: u32, at: usize) -> Option<(u32, usize)> {
        for _ in 1..TRIED {
            let step = self.steps.get(next as usize)?;
            if let Some(value) = step.passes(text, at) {
                return Some((next, value));
            }
            next = step.other;
        }
        None
    }

    /// Notes a separator after the one at `step`.
    pub(super) fn add(&mut self, step: u32, separator: &'a [u8], name: Span) -> u32 {
        let other = self
            .steps
            .get(step as usize)
            .map_or(NONE, |step| step.after);
        let added = self.push(separator, name, step, other);
        if let Some(step) = self.steps.get_mut(step as usize) {
            step.after = added;
        }
        added
    }

    /// The layout of a record that ended at `step`; it is added to `layouts` where there is none.
    pub(super) fn layout(&mut self, step: u32, layouts: &mut Vec<Layout>) -> u32 {
        let Some(last) = self.steps.get_mut(step as usize) else {
            return NONE;
        };
        if last.layout == NONE {
            last.layout = layouts.len() as u32;
            layouts.push(self.names(step));
        }
        self.steps
            .get(step as usize)
            .map_or(NONE, |step| step.layout)
    }

    /// The names up to `step`.
    fn names(&self, step: u32) -> Layout {
        let mut names = Layout::new();
        let mut at = self.steps.get(step as usize);
        while let Some(step) = at.filter(|step| step.before != NONE) {
            names.push(step.name);
            at = self.steps.get(step.before as usize);
        }
        names.reverse();
        names
    }

    /// A text of at most 4 GiB has fewer separators than the numbers reach.
    fn push(&mut self, separator: &'a [u8], name: Span, before: u32, other: u32) -> u32 {
        let mut start = [0; 16];
        start
            .iter_mut()
            .zip(separator)
            .for_each(|(to, from)| *to = *from);
        self.steps.push(Step {
            separator,
            start,
            name,
            before,
            after: NONE,
            other,
            inside: NONE,
            layout: NONE,
        });
        (self.steps.len() - 1) as u32
    }
}

impl Step<'_> {
    /// Behind the separator, if it stands at `at`.
    #[inline(always)]
    fn passes(&self, text: Text<'_>, at: usize) -> Option<usize> {
        let end = at + self.separator.len();
        let rest = text.0.get(at..)?;
        let Some(there) = rest.first_chunk() else {
            return rest.starts_with(self.separator).then_some(end);
        };
        let alike = u8x16::new(*there).simd_eq(u8x16::new(self.start));
        let alike = alike.to_bitmask().trailing_ones() as usize;
        let same = alike >= self.separator.len() || alike >= 16 && rest.starts_with(self.separator);
        same.then_some(end)
    }
}
