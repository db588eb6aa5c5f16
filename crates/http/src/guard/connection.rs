//! What one connection is doing, and for how long already.

use super::{
    ahead::ReadAhead,
    blank_line::{self, BLANK_LINE, Tail},
    drain::{Drain, Stage},
};
use std::{
    cell::Cell,
    sync::{Arc, atomic::AtomicUsize},
};

/// The longest head.
pub(super) const MAX_HEAD: usize = 16 * 1024;
/// At this look a client that has made us wait since before the first of them is cut off, and where it is crowded at the
/// second.
pub(super) const LOOKS: u32 = 4;
const CROWDED_LOOKS: u32 = 2;
/// The length of a body that comes in chunks, which nobody knows.
pub(super) const CHUNKED: u64 = u64::MAX;

/// What a connection is doing. Only its own worker looks at it.
#[derive(Default)]
pub(crate) struct Connection {
    /// Where the listener is on its way to its end.
    pub(super) drain: Drain,
    /// How many requests are being answered.
    pub(super) answering: Cell<u32>,
    next: Cell<Next>,
    /// How much of the body of the request that is being answered has not come yet; without end where nobody knows.
    pub(super) body: Cell<u64>,
    /// The requests that the server was given and has not begun to answer.
    pub(super) ahead: ReadAhead,
    /// The last bytes that came in: the end of a head may come in pieces.
    pub(super) tail: Cell<Tail>,
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
    /// A head, how many bytes came after it, and whether they are more than whole requests: a body, or a part of one more.
    Whole { after: usize, followed: bool },
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
    /// A connection to a listener with this end.
    pub(super) fn new(drain: &Drain, in_all: &Arc<AtomicUsize>) -> Self {
        Self { drain: drain.clone(), ahead: ReadAhead::new(in_all), ..Self::default() }
    }

    /// Whether the next answer is the last.
    pub(super) fn closes(&self) -> bool {
        self.drain.has_reached(Stage::Closing)
    }

    /// Takes note of bytes that came in, and are handed over.
    pub(super) fn received(&self, bytes: &[u8]) -> Result<(), TooLong> {
        let next = match self.next.get() {
            // While one request is answered it only matters whether anything is left when that is over.
            next if self.answering.get() > 0 => match self.without_body(bytes) {
                [] => next,
                rest => Next::after(!self.tail.get().is_ended_by(rest)),
            },
            Next::Something => Next::Something,
            Next::Whole { after, .. } => Next::Whole {
                after: after.saturating_add(bytes.len()),
                followed: !self.tail.get().is_ended_by(bytes),
            },
            Next::Nothing => {
                self.looks.set(0);
                self.head(0, bytes)?
            }
            Next::Head(length) => self.head(length, bytes)?,
        };
        self.next.set(next);
        self.tail.set(self.tail.get().after(bytes));
        Ok(())
    }

    /// Whether more of a body is awaited.
    pub(super) const fn is_within_body(&self) -> bool {
        self.body.get() > 0
    }

    /// What is left of these bytes after what they bring of the body that is awaited.
    fn without_body<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let awaited = self.body.get();
        if awaited == CHUNKED {
            return bytes;
        }
        self.body.set(awaited.saturating_sub(bytes.len() as u64));
        usize::try_from(awaited).ok().and_then(|awaited| bytes.get(awaited..)).unwrap_or_default()
    }

    /// More of a head of which there are so many bytes.
    fn head(&self, length: usize, bytes: &[u8]) -> Result<Next, TooLong> {
        // Lines without anything before a head mean nothing.
        let blank =
            if length == 0 { bytes.iter().take_while(|byte| b"\r\n".contains(byte)).count() } else { 0 };
        let rest = bytes.get(blank..).unwrap_or_default();
        // The blank line may have begun before these bytes, and then ends in the first of them.
        let between = if length > 0 { self.tail.get().end_in(bytes) } else { None };
        let within = || blank_line::ends(rest).next();
        let end = between.or_else(within);
        let so_far = length + end.map_or(rest.len(), |end| end.saturating_sub(BLANK_LINE.len()));
        match end {
            _ if so_far > MAX_HEAD => Err(TooLong),
            None => Ok(Next::Head(so_far)),
            Some(end) => Ok(Next::Whole {
                after: rest.len().saturating_sub(end),
                followed: !self.tail.get().is_ended_by(bytes),
            }),
        }
    }

    /// A request is complete up to the end of its head, which announces a body of so many bytes, or one in chunks.
    pub(super) fn begins(&self, body: u64) {
        self.answering.set(self.answering.get() + 1);
        // What came after the head of one with a body was no further request.
        if body > 0 {
            self.ahead.forget();
        } else {
            self.ahead.begin_one();
        }
        self.ahead.wake_reader();
        let next = match self.next.get() {
            Next::Whole { followed, .. } if body == CHUNKED => {
                self.body.set(body);
                Next::after(followed)
            }
            Next::Whole { after, .. } if after as u64 <= body => {
                self.body.set(body - after as u64);
                Next::Nothing
            }
            Next::Whole { followed, .. } => Next::after(followed),
            Next::Something => Next::Something,
            Next::Nothing | Next::Head(_) => Next::Nothing,
        };
        self.next.set(next);
        self.looks.set(0);
    }

    /// Its answer is there. What it did not wait for of the body has a time, too.
    pub(super) fn ends(&self) {
        self.answering.set(self.answering.get().saturating_sub(1));
        if !matches!(self.body.take(), 0 | CHUNKED) {
            self.next.set(Next::Something);
        }
        self.looks.set(0);
    }

    /// Whether the listener comes to its end and nothing is asked here. Whoever has just connected, or has begun to ask, has
    /// time for it until the end.
    pub(super) fn leaves(&self) -> bool {
        let at_rest = self.next.get() == Next::Nothing || self.drain.has_reached(Stage::Over);
        self.drain.has_reached(Stage::Leaving) && self.answering.get() == 0 && !self.blocked.get() && at_rest
    }

    /// Something was written.
    pub(super) fn wrote(&self) {
        self.blocked.set(false);
        self.looks.set(0);
    }

    /// The client has to read before anything can be written. Returns whether that is new.
    pub(super) fn block(&self) -> bool {
        let new = !self.blocked.replace(true);
        if new {
            self.looks.set(0);
        }
        new
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

    /// Whether it would be ended when its listener is.
    fn rests(connection: &Connection) -> bool {
        connection.drain.advance(Stage::Leaving);
        connection.leaves()
    }

    fn answered() -> Connection {
        let connection = Connection::default();
        connection.received(REQUEST).unwrap();
        connection.begins(0);
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
    fn at_the_end_those_who_rest_leave_at_once_and_those_who_have_begun_to_ask_at_last() {
        assert!(!answered().leaves());
        assert!(rests(&answered()));
        for bytes in [b"".as_slice(), b"GET / HT"] {
            let connection = Connection::default();
            connection.received(bytes).unwrap();
            assert!(!rests(&connection));
            connection.drain.advance(Stage::Over);
            assert!(connection.leaves());
        }
        let asked = Connection::default();
        asked.received(REQUEST).unwrap();
        asked.begins(0);
        asked.drain.advance(Stage::Over);
        assert!(!asked.leaves() && asked.closes());
        asked.ends();
        assert!(asked.leaves());
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
        connection.begins(0);
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
        connection.begins(0);
        connection.ends();
        assert_eq!(patience(&connection), Some(3));
        let connection = Connection::default();
        connection.received(REQUEST).unwrap();
        connection.begins(0);
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
            connection.begins(0);
            connection.ends();
            assert_eq!(patience(&connection), None, "at {at}");
        }
    }

    #[test]
    fn whoever_does_not_read_is_cut_off_and_whoever_reads_slowly_is_not() {
        let connection = Connection::default();
        connection.received(REQUEST).unwrap();
        connection.begins(0);
        for _ in 0..20 {
            connection.block();
            assert!(!connection.look(false));
            connection.wrote();
        }
        connection.block();
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
        connection.begins(0);
        for _ in 0..100 {
            connection.received(&vec![b'x'; MAX_HEAD]).unwrap();
        }
        connection.ends();
        assert_eq!(
            patience(&connection),
            Some(3),
            "after one in chunks nobody knows whether a head has begun"
        );
    }

    /// A connection that got a head which announces ten bytes, and these after it, in one piece or after each of them.
    fn announced(bytes: &[u8], in_pieces: bool) -> Connection {
        let connection = Connection::default();
        let all = [b"PUT / HTTP/1.1\r\n\r\n", bytes].concat();
        let pieces: Vec<&[u8]> = if in_pieces { all.chunks(1).collect() } else { vec![&all] };
        let head = all.len() - bytes.len();
        let mut sent = 0;
        for piece in pieces {
            connection.received(piece).unwrap();
            if sent < head && sent + piece.len() >= head {
                connection.begins(10);
            }
            sent += piece.len();
        }
        connection.ends();
        connection
    }

    #[test]
    fn after_a_body_of_known_length_a_connection_rests() {
        for in_pieces in [false, true] {
            let whole = announced(br#"{"long":1}"#, in_pieces);
            assert!(rests(&whole));
            assert_eq!(patience(&whole), None);
            let begun = announced(br#"{"long":1}G"#, in_pieces);
            assert_eq!(patience(&begun), Some(3), "the next head has begun");
            let unfinished = announced(br#"{"long""#, in_pieces);
            assert_eq!(patience(&unfinished), Some(3), "it was answered before it was there");
            let followed = announced(b"{\"long\":1}GET / HTTP/1.1\r\n\r\n", in_pieces);
            followed.begins(0);
            followed.ends();
            assert!(rests(&followed));
        }
    }

    #[test]
    fn an_end_in_two_pieces_leaves_the_body_that_follows_it() {
        for at in 1..=REQUEST.len() {
            let connection = Connection::default();
            let (one, other) = REQUEST.split_at(at);
            connection.received(one).unwrap();
            connection.received(&[other, b"0123456789"].concat()).unwrap();
            connection.begins(10);
            connection.ends();
            assert!(rests(&connection), "at {at}");
        }
    }
}
