//! What one connection is doing, and for how long already.

use memchr::memmem;
use std::cell::Cell;

/// The end of a head.
const BLANK_LINE: &[u8] = b"\r\n\r\n";
/// The longest head.
pub(super) const MAX_HEAD: usize = 16 * 1024;
/// At this look a client that has made us wait since before the first of them is cut off, and where it is crowded at the
/// second.
pub(super) const LOOKS: u32 = 4;
const CROWDED_LOOKS: u32 = 2;

/// What a connection is doing. Only its own worker looks at it.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// How many requests are being answered.
    answering: Cell<u32>,
    next: Cell<Next>,
    /// The last bytes that came in: the end of a head may come in pieces.
    tail: Cell<[u8; 4]>,
    /// Whether an answer waits for the client to read.
    blocked: Cell<bool>,
    /// How often it was looked at while nothing moved.
    looks: Cell<u32>,
}

/// How much there is of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Nothing, after an answer: the server itself ends connections that stay so.
    Nothing,
    /// So many bytes of a head without an end.
    Head(usize),
    /// A head, and whether anything follows it: a body, or one more request.
    Whole { followed: bool },
    /// What followed the request before: the rest of a body that nobody reads, or a head. Nobody can tell, so it has a time but
    /// no length.
    Something,
}

impl Default for Next {
    /// Whoever connects has something to say.
    fn default() -> Self {
        Self::Head(0)
    }
}

impl Next {
    /// What is left after a request.
    const fn after(followed: bool) -> Self {
        if followed { Self::Something } else { Self::Nothing }
    }
}

/// A head is longer than any that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

impl Connection {
    /// Takes note of bytes that came in.
    pub(super) fn received(&self, bytes: &[u8]) -> Result<(), TooLong> {
        let followed = !self.ends_blank(bytes);
        let next = match self.next.get() {
            // While one request is answered it only matters whether anything is left when that is over.
            _ if self.answering.get() > 0 => Next::after(followed),
            Next::Something => Next::Something,
            Next::Whole { .. } => Next::Whole { followed },
            Next::Nothing => {
                self.looks.set(0);
                self.head(0, bytes)?
            }
            Next::Head(length) => self.head(length, bytes)?,
        };
        self.next.set(next);
        if let Some(tail) = bytes.last_chunk() {
            self.tail.set(*tail);
        } else {
            let joined = self.joined(bytes);
            self.tail.set(joined.last_chunk().copied().unwrap_or_default());
        }
        Ok(())
    }

    /// More of a head of which there are so many bytes.
    fn head(&self, length: usize, bytes: &[u8]) -> Result<Next, TooLong> {
        // Lines without anything before a head mean nothing.
        let blank =
            if length == 0 { bytes.iter().take_while(|byte| b"\r\n".contains(byte)).count() } else { 0 };
        let rest = bytes.get(blank..).unwrap_or_default();
        let end =
            if length > 0 && self.ends_between(bytes) { Some(0) } else { memmem::find(rest, BLANK_LINE) };
        let so_far = length + end.unwrap_or(rest.len());
        match end {
            _ if so_far > MAX_HEAD => Err(TooLong),
            None => Ok(Next::Head(so_far)),
            Some(_) => Ok(Next::Whole { followed: !self.ends_blank(bytes) }),
        }
    }

    /// Whether these bytes end with the end of a head, or of a body in chunks: a blank line that follows another line. It may
    /// have begun before them.
    fn ends_blank(&self, bytes: &[u8]) -> bool {
        let ends = |bytes: &[u8]| match bytes.strip_suffix(BLANK_LINE) {
            Some(before) => before.last().is_some_and(|last| !b"\r\n".contains(last)),
            None => false,
        };
        ends(bytes) || (bytes.len() <= BLANK_LINE.len() && ends(&self.joined(bytes)))
    }

    /// Whether a blank line ends in the first of these bytes.
    fn ends_between(&self, bytes: &[u8]) -> bool {
        memmem::find(&self.joined(bytes), BLANK_LINE).is_some()
    }

    /// The last bytes that came before, and the first of these.
    fn joined(&self, bytes: &[u8]) -> Vec<u8> {
        self.tail.get().iter().chain(bytes.iter().take(4)).copied().collect()
    }

    /// A request is complete up to the end of its head.
    pub(super) fn begins(&self) {
        self.answering.set(self.answering.get() + 1);
        let followed = matches!(self.next.get(), Next::Whole { followed: true } | Next::Something);
        self.next.set(Next::after(followed));
        self.looks.set(0);
    }

    /// Its answer is there.
    pub(super) fn ends(&self) {
        self.answering.set(self.answering.get().saturating_sub(1));
        self.looks.set(0);
    }

    /// Something was written.
    pub(super) fn wrote(&self) {
        self.blocked.set(false);
        self.looks.set(0);
    }

    /// The client has to read before anything can be written.
    pub(super) fn is_blocked(&self) {
        if !self.blocked.replace(true) {
            self.looks.set(0);
        }
    }

    /// Looks at it, as happens every few seconds. Returns whether it has made us wait for too long.
    pub(super) fn look(&self, crowded: bool) -> bool {
        let waiting = self.blocked.get() || (self.answering.get() == 0 && self.next.get() != Next::Nothing);
        let looks = if waiting { self.looks.get().saturating_add(1) } else { 0 };
        self.looks.set(looks);
        looks >= if crowded { CROWDED_LOOKS } else { LOOKS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

    /// How many looks it survives.
    fn patience(connection: &Connection) -> Option<usize> {
        (0..20).position(|_| connection.look(false))
    }

    fn answered() -> Connection {
        let connection = Connection::default();
        connection.received(REQUEST).unwrap();
        connection.begins();
        connection.ends();
        connection
    }

    #[test]
    fn whoever_sends_no_first_head_is_cut_off() {
        let silent = Connection::default();
        assert_eq!(patience(&silent), Some(3));
        let slow = Connection::default();
        for _ in 0..3 {
            assert!(!slow.look(false));
            slow.received(b"G").unwrap();
        }
        assert!(slow.look(false), "a byte now and then buys no time");
    }

    #[test]
    fn where_it_is_crowded_patience_is_short() {
        let silent = Connection::default();
        assert!(!silent.look(true));
        assert!(silent.look(true));
    }

    #[test]
    fn a_connection_that_rests_between_requests_is_left_alone() {
        assert_eq!(patience(&answered()), None);
    }

    #[test]
    fn a_later_head_has_the_same_time_as_the_first() {
        let connection = answered();
        assert!(!connection.look(false) && !connection.look(false));
        connection.received(b"G").unwrap();
        assert_eq!(patience(&connection), Some(3));
    }

    #[test]
    fn a_head_that_came_along_with_the_request_before_it_has_no_more_time() {
        let connection = Connection::default();
        connection.received(b"GET / HTTP/1.1\r\n\r\nG").unwrap();
        connection.begins();
        assert_eq!(
            patience(&connection),
            None,
            "as long as there is an answer to give it is we who take the time"
        );
        connection.ends();
        assert_eq!(patience(&connection), Some(3));
    }

    #[test]
    fn blank_lines_are_no_requests() {
        let connection = answered();
        connection.received(b"\r\n\r\n").unwrap();
        assert_eq!(patience(&connection), Some(3));
        let connection = Connection::default();
        connection.received(b"GET / HTTP/1.1\r\n\r\n\r\n\r\n").unwrap();
        connection.begins();
        connection.ends();
        assert_eq!(patience(&connection), Some(3));
        let connection = Connection::default();
        connection.received(REQUEST).unwrap();
        connection.begins();
        connection.received(b"\r\n\r\n").unwrap();
        connection.ends();
        assert_eq!(patience(&connection), Some(3));
    }

    #[test]
    fn an_end_that_comes_in_pieces_is_an_end() {
        for at in 1..REQUEST.len() {
            let connection = Connection::default();
            let (one, other) = REQUEST.split_at(at);
            connection.received(one).unwrap();
            connection.received(other).unwrap();
            connection.begins();
            connection.ends();
            assert_eq!(patience(&connection), None, "at {at}");
        }
    }

    #[test]
    fn whoever_does_not_read_is_cut_off_and_whoever_reads_slowly_is_not() {
        let connection = Connection::default();
        connection.received(REQUEST).unwrap();
        connection.begins();
        for _ in 0..20 {
            connection.is_blocked();
            assert!(!connection.look(false));
            connection.wrote();
        }
        connection.is_blocked();
        connection.ends();
        assert_eq!(patience(&connection), Some(3));
    }

    #[test]
    fn a_head_has_a_longest_length_and_many_short_ones_do_not_add_up() {
        let connection = Connection::default();
        let half = vec![b'x'; MAX_HEAD / 2];
        assert_eq!(connection.received(&half), Ok(()));
        assert_eq!(connection.received(&half), Ok(()));
        assert_eq!(connection.received(b"x\r\n\r\n"), Err(TooLong));
        assert_eq!(connection.received(b"x"), Err(TooLong));
        let connection = Connection::default();
        for _ in 0..100 {
            connection.received(&REQUEST.repeat(100)).unwrap();
        }
        assert_eq!(connection.received(&half), Ok(()));
    }

    #[test]
    fn a_body_counts_for_no_head() {
        let connection = Connection::default();
        connection.received(b"PUT / HTTP/1.1\r\n\r\n").unwrap();
        connection.begins();
        for _ in 0..100 {
            connection.received(&vec![b'x'; MAX_HEAD]).unwrap();
        }
        connection.ends();
        assert_eq!(patience(&connection), Some(3), "after a body nobody knows whether a head has begun");
    }
}
