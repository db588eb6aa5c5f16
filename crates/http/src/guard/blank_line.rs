//! Where heads end: at a blank line, which may come in pieces.

use memchr::memmem::Finder;
use std::sync::LazyLock;

pub(super) const BLANK_LINE: &[u8] = b"\r\n\r\n";
const LENGTH: usize = BLANK_LINE.len();
/// To make one takes longer than to find the end of a usual head with it.
static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(BLANK_LINE));

/// Where blank lines end in these bytes.
pub(super) fn ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    FINDER.find_iter(bytes).map(|start| start + LENGTH)
}

/// The last bytes that came in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tail([u8; LENGTH]);

impl Tail {
    /// The last bytes after these have come in, too.
    pub(super) fn after(self, bytes: &[u8]) -> Self {
        match bytes.last_chunk() {
            Some(last) => Self(*last),
            None => Self(self.joined(bytes).as_slice().last_chunk().copied().unwrap_or_default()),
        }
    }

    /// Where in these bytes a blank line ends that began before them.
    pub(super) fn end_in(self, bytes: &[u8]) -> Option<usize> {
        // One that ends before them is none of theirs.
        let joined = self.joined(bytes);
        let start = joined.as_slice().get(1..)?.windows(LENGTH).position(|part| part == BLANK_LINE)? + 1;
        (start < LENGTH).then_some(start)
    }

    /// Whether these bytes end with the end of a head, or of a body in chunks: a blank line that follows another line. It may
    /// have begun before them.
    pub(super) fn is_ended_by(self, bytes: &[u8]) -> bool {
        let ends = |bytes: &[u8]| match bytes.strip_suffix(BLANK_LINE) {
            Some(before) => before.last().is_some_and(|last| !b"\r\n".contains(last)),
            None => false,
        };
        ends(bytes) || (bytes.len() <= LENGTH && ends(self.joined(bytes).as_slice()))
    }

    /// The last bytes that came before, and the first of these.
    fn joined(self, bytes: &[u8]) -> Joined {
        let mut joined = Joined { bytes: [0; 2 * LENGTH], length: 0 };
        for (place, byte) in joined.bytes.iter_mut().zip(self.0.iter().chain(bytes.iter().take(LENGTH))) {
            *place = *byte;
            joined.length += 1;
        }
        joined
    }
}

/// A few bytes that need no allocation.
struct Joined {
    bytes: [u8; 2 * LENGTH],
    length: usize,
}

impl Joined {
    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_line_ends_where_its_last_byte_is_wherever_it_is_cut() {
        let bytes = b"Host: x\r\n\r\nGET";
        for cut in 8..11 {
            let (before, after) = bytes.split_at(cut);
            assert_eq!(Tail::default().after(before).end_in(after), Some(11 - cut), "cut at {cut}");
        }
        for cut in [0, 7, 11, 13] {
            let (before, after) = bytes.split_at(cut);
            assert_eq!(Tail::default().after(before).end_in(after), None, "cut at {cut}");
        }
    }

    #[test]
    fn the_last_bytes_are_the_same_whether_they_come_at_once_or_one_by_one() {
        let bytes = b"0\r\n\r\n";
        let one_by_one = bytes.chunks(1).fold(Tail::default(), Tail::after);
        assert_eq!(one_by_one.0, Tail::default().after(bytes).0);
        assert!(Tail::default().is_ended_by(bytes));
        assert!(Tail::default().after(&bytes[..3]).is_ended_by(&bytes[3..]));
        assert!(!one_by_one.is_ended_by(BLANK_LINE), "a blank line after a blank line ends nothing");
    }
}
