//! Feedback as rows. The slot is no part of them: it belongs to the store, not to the entry.

use super::{
    makes_no_sense,
    snowflake::{from_column, to_column},
    unreadable::{Key, Keyed},
};
use crate::{failure::RowError, schema::feedback};
use companion_domain::model::{Feedback, Rating, Timestamp, User};
use diesel::{AsChangeset, Insertable, Queryable, Selectable};

#[derive(Debug, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = feedback)]
pub(crate) struct FeedbackRow {
    pub(crate) id: String,
    pub(crate) message: String,
    pub(crate) rating: i64,
    pub(crate) submitted_at: i64,
    pub(crate) submitter_id: i64,
    pub(crate) submitter_username: String,
    pub(crate) submitter_name: String,
    pub(crate) submitter_avatar: String,
}

impl From<&Feedback> for FeedbackRow {
    fn from(feedback: &Feedback) -> Self {
        Self {
            id: feedback.id.to_string(),
            message: feedback.text.to_string(),
            rating: feedback.rating.stars().into(),
            submitted_at: feedback.submitted_at.micros(),
            submitter_id: to_column(feedback.submitter.id),
            submitter_username: feedback.submitter.username.to_string(),
            submitter_name: feedback.submitter.name.to_string(),
            submitter_avatar: feedback.submitter.avatar.to_string(),
        }
    }
}

impl Keyed for FeedbackRow {
    fn key(&self) -> Key {
        Key::Text(None, self.id.clone())
    }
}

impl TryFrom<FeedbackRow> for Feedback {
    type Error = RowError;

    fn try_from(row: FeedbackRow) -> Result<Self, RowError> {
        const TABLE: &str = "feedback";
        let submitter = User {
            id: from_column(row.submitter_id, TABLE, "submitter_id")?,
            username: row.submitter_username.parse().map_err(makes_no_sense(TABLE, "submitter_username"))?,
            name: row.submitter_name.parse().map_err(makes_no_sense(TABLE, "submitter_name"))?,
            avatar: row.submitter_avatar.parse().map_err(makes_no_sense(TABLE, "submitter_avatar"))?,
        };
        Ok(Self {
            id: row.id.parse().map_err(makes_no_sense(TABLE, "id"))?,
            text: row.message.parse().map_err(makes_no_sense(TABLE, "message"))?,
            rating: Rating::new(row.rating).map_err(makes_no_sense(TABLE, "rating"))?,
            submitted_at: Timestamp::from_micros(row.submitted_at),
            submitter,
        })
    }
}
