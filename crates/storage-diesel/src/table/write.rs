//! What a job works with.

use super::{history, journal::Journal};
use crate::{connection::AnyConnection, failure::Failure};
use companion_domain::change::{Change, Revision, Subject, Tally};

/// The database in the hands of one job, and what the job notes as changed.
pub(crate) struct Write<'a> {
    /// The connection, in a transaction or a savepoint that is the job's own.
    pub(crate) db: &'a mut AnyConnection,
    journal: Journal,
    latest: Option<Revision>,
    remembered: u64,
}

impl<'a> Write<'a> {
    pub(crate) fn new(db: &'a mut AnyConnection, remembered: u64) -> Self {
        Self { db, journal: Journal::default(), latest: None, remembered }
    }

    /// Notes that this may be different now.
    pub(crate) fn note(&mut self, subject: Subject) {
        self.journal.note(subject);
    }

    /// Notes a change, where it was one.
    pub(crate) fn noted(&mut self, tally: Tally, subject: impl FnOnce() -> Subject) -> Tally {
        if tally != Tally::NOTHING {
            self.journal.note(subject());
        }
        tally
    }

    /// Records a change at once, for a job that needs to know its revision.
    pub(crate) fn record(&mut self, subject: &Subject) -> Result<Revision, Failure> {
        let (revision, _) = self.append(vec![subject.clone()])?;
        Ok(revision)
    }

    /// Records everything that was noted, and returns it.
    pub(crate) fn record_noted(&mut self) -> Result<Vec<Change>, Failure> {
        let subjects = std::mem::take(&mut self.journal).into_subjects();
        if subjects.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.append(subjects)?.1)
    }

    fn append(&mut self, subjects: Vec<Subject>) -> Result<(Revision, Vec<Change>), Failure> {
        let latest = history::append(self.db, &subjects, self.remembered)?;
        self.latest = Some(latest);
        let first = (latest.0 + 1).saturating_sub(subjects.len() as u64);
        let changes = (first..).map(Revision).zip(subjects);
        Ok((latest, changes.map(|(revision, subject)| Change { revision, subject }).collect()))
    }

    /// The newest revision that the job has made.
    pub(crate) const fn latest(&self) -> Option<Revision> {
        self.latest
    }
}

/// What removing so many rows of one thing each did.
pub(crate) const fn removed(rows: usize) -> Tally {
    Tally { removed: rows as u64, ..Tally::NOTHING }
}
