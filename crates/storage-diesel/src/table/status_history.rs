//! Periods of the bot's history, and notices.

use super::{
    history::Write,
    row::{Columns as _, NoticeRow, PeriodRow, Row, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::{clusters, notices, periods},
};
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{Notice, NoticeId, Period, PeriodChange, PeriodSubject, Timestamp},
};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl};
use std::collections::BTreeMap;

impl Row for PeriodRow {
    type Value = Period;

    fn of(period: &Period) -> Self {
        Self {
            subject: period.subject.to_string(),
            began_at: period.began_at.micros(),
            ended_at: period.ended_at.map(Timestamp::micros),
            reason: period.reason.as_ref().map(ToString::to_string),
            alert_due: period.alert_due.map(Timestamp::micros),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<Period, RowError> {
        Ok(Period {
            subject: read!(self.subject, |subject| subject.parse()),
            began_at: Timestamp::from_micros(self.began_at),
            ended_at: self.ended_at.map(Timestamp::from_micros),
            reason: read!(self.reason, |reason| reason.as_deref().map(str::parse).transpose()),
            alert_due: self.alert_due.map(Timestamp::from_micros),
        })
    }
}

impl Row for NoticeRow {
    type Value = Notice;

    fn of(notice: &Notice) -> Self {
        Self {
            id: notice.id.to_string(),
            kind: notice.kind.to_string(),
            title: notice.title.to_string(),
            body: notice.text.to_string(),
            starts_at: notice.from.micros(),
            ends_at: notice.until.map(Timestamp::micros),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<Notice, RowError> {
        Ok(Notice {
            id: read!(self.id, |id| id.parse()),
            kind: read!(self.kind, |kind| kind.parse()),
            title: read!(self.title, |title| title.parse()),
            text: read!(self.body, |text| text.parse()),
            from: Timestamp::from_micros(self.starts_at),
            until: self.ends_at.map(Timestamp::from_micros),
        })
    }
}

/// Applies a change of the history. Extending a watched period is no change that others need to know of.
pub(crate) fn change(write: &mut Write<'_>, change: &PeriodChange) -> Result<Tally, WorkError> {
    let rest = "WHERE ended_at IS NULL OR alert_due IS NOT NULL OR subject = ?";
    let rows = PeriodRow::select(write.db, rest, vec![PeriodSubject::Watched.to_string().into()])?;
    let known: Vec<Period> = rows.into_iter().filter_map(|row| row.read(write.unreadable).ok()).collect();
    let reports: Vec<(String, i64)> =
        clusters::table.select((clusters::id, clusters::received_at)).load(write.db)?;
    let reports: BTreeMap<_, _> = reports
        .into_iter()
        .filter_map(|(id, received_at)| Some((id.parse().ok()?, Timestamp::from_micros(received_at))))
        .collect();
    let Some(period) = change.decide(&known, &reports) else { return Ok(Tally::NOTHING) };
    let tally = PeriodRow::of(&period).put(write.db)?;
    if tally == Tally::ADDED {
        trim(write.db)?;
    } else if period.subject == PeriodSubject::Watched {
        return Ok(tally);
    }
    Ok(write.noted(tally, || Subject::Many(Kind::Period)))
}

/// Removes the oldest periods beyond the number to keep.
fn trim(db: &mut AnyConnection) -> QueryResult<()> {
    let newest = periods::table.select(periods::began_at).order(periods::began_at.desc());
    let last_kept: Option<i64> = newest.offset(Period::KEPT as i64 - 1).first(db).optional()?;
    if let Some(last_kept) = last_kept {
        diesel::delete(periods::table.filter(periods::began_at.lt(last_kept))).execute(db)?;
    }
    Ok(())
}

/// Returns the number of open notices other than this one.
pub(crate) fn open_notices(db: &mut AnyConnection, except: &NoticeId) -> Result<i64, WorkError> {
    let others = notices::table.filter(notices::ends_at.is_null()).filter(notices::id.ne(except.as_str()));
    Ok(others.count().get_result(db)?)
}
