//! What one connection is doing, and for how long already.

use super::{
    ahead::ReadAhead,
    drain::{Drain, Stage},
};
use memchr::memmem;
use std::{
    cell::Cell,
    sync::{Arc, atomic::AtomicUsize},
    task::{Context, Waker},
};

/// The end of a head.
const BLANK_LINE: &[u8] = b"\r\n\r\n";
/// The longest head.
pub(super) const MAX_HEAD: usize = 16 * 1024;
/// At this look a client that has made us wait since before the first of them is cut off, and where it is crowded at the
/// second.
pub(super) const LOOKS: u32 = 4;
const CROWDED_LOOKS: u32 = 2;
/// How many requests the server may read before it has begun to answer them. Each of them costs two kilobytes there, and as
/// little as twenty bytes to send.
const MAX_AHEAD: usize = 16;
/// The same where very many are read ahead on all connections together.
const FEW_AHEAD: usize = 2;
/// The length of a body that comes in chunks, which nobody knows.
pub(super) const CHUNKED: u64 = u64::MAX;

/// What a connection is doing. Only its own worker looks at it.
#[derive(Default)]
pub(crate) struct Connection {
    /// Where the listener is on its way to its end.
    pub(super) drain: Drain,
    /// How many requests are being answered.
    answering: Cell<u32>,
    next: Cell<Next>,
    /// How much of the body of the request that is being answered has not come yet; without end where nobody knows.
    body: Cell<u64>,
    /// How many heads were handed over that nobody has begun to answer.
    ahead: Cell<usize>,
    /// Those of them that count for all connections together.
    read_ahead: ReadAhead,
    /// Whoever waits to hand over more.
    reader: Cell<Option<Waker>>,
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
        Self { drain: drain.clone(), read_ahead: ReadAhead::new(in_all), ..Self::default() }
    }

    /// Whether the next answer is the last.
    pub(super) fn closes(&self) -> bool {
        self.drain.has_reached(Stage::Closing)
    }

    /// How many of these bytes may be handed over now: all of a body, and otherwise only a few requests ahead. Where it is
    /// none of them, whoever asks is woken when it may be more.
    pub(super) fn room(&self, bytes: &[u8], context: &Context<'_>) -> usize {
        let most = if self.read_ahead.are_many() { FEW_AHEAD } else { MAX_AHEAD };
        if self.ahead.get() >= most && !self.may_go_on(context.waker()) {
            return 0;
        }
        let room = most.saturating_sub(self.ahead.get()).max(1);
        let body = if self.body.get() == CHUNKED { 0 } else { self.body.get() };
        let body = usize::try_from(body).unwrap_or(usize::MAX).min(bytes.len());
        let rest = bytes.get(body..).unwrap_or_default();
        // Where there is no end within the length of the longest head, there are no requests.
        let looked_at = rest.get(..MAX_HEAD).unwrap_or(rest);
        let between = if body == 0 { self.end_between(bytes) } else { None };
        let within = memmem::find_iter(looked_at, BLANK_LINE).map(|start| start + BLANK_LINE.len());
        let (mut heads, mut end) = (0, 0);
        for after in between.into_iter().chain(within).take(room) {
            (heads, end) = (heads + 1, after);
        }
        self.ahead.set(self.ahead.get() + heads);
        if heads > 1 {
            self.read_ahead.add(heads);
        }
        match heads {
            0 => bytes.len(),
            _ if heads == room => body + end,
            _ => body + looked_at.len(),
        }
    }

    /// Whether more may be handed over although enough was.
    fn may_go_on(&self, waker: &Waker) -> bool {
        let waited = self.reader.take().is_some();
        let at_rest = self.answering.get() == 0;
        // Once nobody has begun with any of them, they were no requests, as in the middle of a body in chunks.
        if waited && (at_rest || self.body.get() == CHUNKED) {
            self.forget_ahead();
            return true;
        }
        self.reader.set(Some(waker.clone()));
        if at_rest || self.body.get() == CHUNKED {
            waker.wake_by_ref();
        }
        false
    }

    /// What was handed over were no requests.
    fn forget_ahead(&self) {
        self.ahead.set(0);
        self.read_ahead.forget();
    }

    /// Takes note of bytes that came in, and are handed over.
    pub(super) fn received(&self, bytes: &[u8]) -> Result<(), TooLong> {
        let next = match self.next.get() {
            // While one request is answered it only matters whether anything is left when that is over.
            next if self.answering.get() > 0 => match self.without_body(bytes) {
                [] => next,
                rest => Next::after(!self.ends_blank(rest)),
            },
            Next::Something => Next::Something,
            Next::Whole { after, .. } => {
                Next::Whole { after: after.saturating_add(bytes.len()), followed: !self.ends_blank(bytes) }
            }
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
        let end = match (length > 0).then(|| self.end_between(bytes)).flatten() {
            Some(end) => Some(end),
            None => memmem::find(rest, BLANK_LINE).map(|start| start + BLANK_LINE.len()),
        };
        let so_far = length + end.unwrap_or(rest.len()).saturating_sub(end.map_or(0, |_| BLANK_LINE.len()));
        match end {
            _ if so_far > MAX_HEAD => Err(TooLong),
            None => Ok(Next::Head(so_far)),
            Some(end) => {
                Ok(Next::Whole { after: rest.len().saturating_sub(end), followed: !self.ends_blank(bytes) })
            }
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

    /// Where in these bytes a blank line ends that began before them.
    fn end_between(&self, bytes: &[u8]) -> Option<usize> {
        let tail = self.tail.get().len();
        // One that ends before them is none of theirs.
        let start = memmem::find(self.joined(bytes).get(1..)?, BLANK_LINE)? + 1;
        (start < tail).then(|| start + BLANK_LINE.len() - tail)
    }

    /// The last bytes that came before, and the first of these.
    fn joined(&self, bytes: &[u8]) -> Vec<u8> {
        self.tail.get().iter().chain(bytes.iter().take(4)).copied().collect()
    }

    /// A request is complete up to the end of its head, which announces a body of so many bytes, or one in chunks.
    pub(super) fn begins(&self, body: u64) {
        self.answering.set(self.answering.get() + 1);
        if body > 0 {
            self.forget_ahead();
        } else {
            self.ahead.set(self.ahead.get().saturating_sub(1));
            self.read_ahead.begin_one();
        }
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
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
    use super::{super::ahead::MANY, *};
    use std::sync::atomic::Ordering::Relaxed;

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

    /// How many of these bytes are handed over, and whether someone waits to be woken then.
    fn handed_over(connection: &Connection, bytes: &[u8]) -> usize {
        let room = connection.room(bytes, &Context::from_waker(Waker::noop()));
        connection.received(&bytes[..room]).unwrap();
        room
    }

    #[test]
    fn only_so_many_requests_are_handed_over_before_they_are_answered() {
        let connection = Connection::default();
        let many = REQUEST.repeat(MAX_AHEAD + 5);
        assert_eq!(handed_over(&connection, &many), REQUEST.len() * MAX_AHEAD);
        assert_eq!(handed_over(&connection, &many), 0);
        for _ in 0..3 {
            connection.begins(0);
            connection.ends();
        }
        assert_eq!(handed_over(&connection, &many), REQUEST.len() * 3);
        connection.begins(0);
        assert_eq!(handed_over(&connection, &many), REQUEST.len());
        assert_eq!(handed_over(&connection, &many), 0, "while one of them is answered");
        assert_eq!(handed_over(&connection, &many), 0, "for as long as that takes");
    }

    #[test]
    fn where_very_many_are_read_ahead_in_all_each_has_to_do_with_few() {
        let in_all = Arc::default();
        let burst = REQUEST.repeat(MAX_AHEAD);
        let connection = || Connection::new(&Drain::default(), &in_all);
        let crowd: Vec<_> = (0..MANY / MAX_AHEAD).map(|_| connection()).collect();
        for connection in &crowd {
            assert_eq!(handed_over(connection, &burst), burst.len());
        }
        let late = connection();
        assert_eq!(handed_over(&late, &burst), REQUEST.len() * FEW_AHEAD);
        assert_eq!(handed_over(&late, &burst), 0);
        drop(late);
        crowd[0].begins(0);
        assert_eq!(handed_over(&connection(), &burst), burst.len(), "there is room again");
        drop(crowd);
        assert_eq!(in_all.load(Relaxed), 0, "those who are gone count no more");
    }

    #[test]
    fn a_body_is_handed_over_whatever_it_looks_like() {
        let looks_like_requests = REQUEST.repeat(MAX_AHEAD * 2);
        let connection = Connection::default();
        assert_eq!(handed_over(&connection, REQUEST), REQUEST.len());
        connection.begins(1_000_000);
        for _ in 0..10 {
            assert_eq!(handed_over(&connection, &looks_like_requests), looks_like_requests.len());
        }
    }

    #[test]
    fn of_a_body_in_chunks_that_looks_like_requests_some_is_handed_over_at_a_time() {
        let connection = Connection::default();
        assert_eq!(handed_over(&connection, REQUEST), REQUEST.len());
        connection.begins(CHUNKED);
        let looks_like_requests = REQUEST.repeat(MAX_AHEAD * 2);
        for _ in 0..10 {
            let some = handed_over(&connection, &looks_like_requests);
            assert!((1..looks_like_requests.len()).contains(&some), "{some}");
            assert_eq!(handed_over(&connection, &looks_like_requests), 0, "the server has a look first");
        }
    }

    #[test]
    fn requests_after_a_body_are_counted() {
        let connection = Connection::default();
        assert_eq!(handed_over(&connection, REQUEST), REQUEST.len());
        connection.begins(1);
        let burst = [b"x", &*REQUEST.repeat(MAX_AHEAD * 2)].concat();
        assert_eq!(handed_over(&connection, &burst), 1 + REQUEST.len() * MAX_AHEAD);
    }

    #[test]
    fn what_cannot_be_requests_is_not_looked_through() {
        let connection = answered();
        let flood = vec![b'x'; MAX_HEAD * 4];
        connection.begins(CHUNKED);
        assert_eq!(handed_over(&connection, &flood), flood.len());
    }

    #[test]
    fn what_comes_with_its_head_and_looks_like_requests_is_handed_over_in_the_end() {
        let connection = Connection::default();
        let all = REQUEST.repeat(MAX_AHEAD * 3);
        let first = handed_over(&connection, &all);
        connection.begins((all.len() - REQUEST.len()) as u64);
        assert_eq!(handed_over(&connection, &all[first..]), all.len() - first);
        connection.ends();
        assert!(rests(&connection));
    }

    #[test]
    fn blank_lines_do_not_stop_anyone() {
        let connection = Connection::default();
        let blank = b"\r\n\r\n".repeat(MAX_AHEAD);
        assert_eq!(handed_over(&connection, &blank), blank.len());
        assert_eq!(handed_over(&connection, REQUEST), 0, "the server has a look first");
        assert_eq!(handed_over(&connection, REQUEST), REQUEST.len());
    }

    #[test]
    fn an_end_in_pieces_is_counted_once() {
        let connection = Connection::default();
        for byte in REQUEST.repeat(MAX_AHEAD) {
            assert_eq!(handed_over(&connection, &[byte]), 1);
        }
        assert_eq!(connection.ahead.get(), MAX_AHEAD);
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
