//! How much of what came in the server gets to read.
//!
//! It would parse everything that it is given, at two kilobytes for a request that takes twenty bytes to send, however long it
//! takes until that is answered. So it is given little more than it is at work on.

use super::{
    blank_line,
    connection::{CHUNKED, Connection, MAX_HEAD, TooLong},
};
use std::task::Context;

impl Connection {
    /// Hands over the first of these bytes: all of a body, and otherwise only a few requests ahead of their answers. Returns
    /// how many. Where it is none, whoever asks is woken when it may be more.
    pub(super) fn hand_over(&self, bytes: &[u8], context: &Context<'_>) -> Result<usize, TooLong> {
        let room = self.room(bytes, context);
        if room > 0 {
            self.received(bytes.get(..room).unwrap_or(bytes))?;
        }
        Ok(room)
    }

    /// How many of these bytes may be handed over.
    fn room(&self, bytes: &[u8], context: &Context<'_>) -> usize {
        let chunked = self.body.get() == CHUNKED;
        // Where nobody is at work on what was handed over, or it may be a body, it need not have been requests.
        let doubtful = chunked || self.answering.get() == 0;
        let Some(most) = self.ahead.room(doubtful, context.waker()) else { return 0 };
        let body = if chunked { 0 } else { usize::try_from(self.body.get()).unwrap_or(usize::MAX) };
        let body = body.min(bytes.len());
        let rest = bytes.get(body..).unwrap_or_default();
        // Where there is no end within the length of the longest head, there are no requests.
        let looked_at = rest.get(..MAX_HEAD).unwrap_or(rest);
        let between = if body == 0 { self.tail.get().end_in(bytes) } else { None };
        let (mut heads, mut end) = (0, 0);
        for after in between.into_iter().chain(blank_line::ends(looked_at)).take(most) {
            (heads, end) = (heads + 1, after);
        }
        self.ahead.add(heads);
        match heads {
            0 => bytes.len(),
            _ if heads == most => body + end,
            _ => body + looked_at.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            ahead::{FEW_AHEAD, MANY, MAX_AHEAD},
            drain::{Drain, Stage},
        },
        *,
    };
    use std::{
        sync::{Arc, atomic::Ordering::Relaxed},
        task::Waker,
    };

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

    /// How many of these bytes are handed over.
    fn handed_over(connection: &Connection, bytes: &[u8]) -> usize {
        connection.hand_over(bytes, &Context::from_waker(Waker::noop())).unwrap()
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
        let connection = Connection::default();
        assert_eq!(handed_over(&connection, REQUEST), REQUEST.len());
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
        connection.drain.advance(Stage::Leaving);
        assert!(connection.leaves(), "it rests after its body");
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
        assert_eq!(handed_over(&connection, REQUEST), 0);
    }
}
