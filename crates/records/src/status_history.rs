//! Notices, and periods of the bot's history.

use crate::{
    format::OrDefault,
    record::record,
    values::{Micros, Seconds},
};
use companion_domain::model::{
    Headline, Notice, NoticeId, NoticeKind, NoticeText, Period, PeriodSubject, Title,
};

record! {
    /// A notice, shown on the status page while it counts and in the history afterwards.
    pub NoticeRecord of Notice {
        key {
            /// The notice's id. Chosen by the publisher.
            id ["id"] in "id": NoticeId = id;
        }
        fields {
            /// What the notice is about.
            kind ["kind"]: NoticeKind = kind;
            /// Shown first.
            title ["title"]: Headline = title;
            /// Plain text: markup is shown as written.
            text ["text"]: NoticeText = text;
            /// From when the notice counts, in seconds since 1970; a fraction is dropped.
            from ["from"]: Seconds = from;
            /// Until when the notice counts, in seconds since 1970. Without it the notice is open.
            until ["until"]: OrDefault<Option<Seconds>> = until;
        }
        example {
            "kind": "maintenance", "title": "Moving to a new server", "text": "Commands may fail for ten minutes.",
            "from": 1_700_000_000, "until": 1_700_000_600
        }
    }
    Notice { id, kind, title, text, from, until },
    checked by Notice::check
}

impl NoticeRecord {
    /// Size of the largest valid notice, in bytes: every character may be escaped.
    pub const MAX_BYTES: usize = 32 * 1024;
}

record! {
    /// A period of the bot's history. Times are in microseconds since 1970.
    pub PeriodRecord of Period {
        fields {
            subject ["subject"]: PeriodSubject = subject;
            began_at ["began_at"]: Micros = began_at;
            ended_at ["ended_at"]: OrDefault<Option<Micros>> = ended_at;
            reason ["reason"]: OrDefault<Option<Title>> = reason;
            alert_due ["alert_due"]: OrDefault<Option<Micros>> = alert_due;
        }
    }
    Period { subject, began_at, ended_at, reason, alert_due }
}
