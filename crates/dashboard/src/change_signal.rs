//! Tells open pages that something may have changed.

use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    port::{ChangeBatch, StoreError, Subscriber},
};
use std::sync::Arc;
use tokio::sync::watch;

/// What pages look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// How the bot is.
    Bot,
    /// Guilds, who may do what there, and sessions.
    Guilds,
}

impl Subject {
    const fn of(kind: Kind) -> Option<Self> {
        if matches!(kind, Kind::Cluster) {
            Some(Self::Bot)
        } else if kind.is_listed() || matches!(kind, Kind::Session) {
            Some(Self::Guilds)
        } else {
            None
        }
    }
}

/// Follows the change feed for those who watch. It has to follow after everything that they look at, so that what they see
/// when they are told is up to date. Changes of a subject are numbered, from 1.
#[derive(Debug, Default)]
pub(crate) struct ChangeSignal {
    bot: watch::Sender<u64>,
    guilds: watch::Sender<u64>,
}

impl ChangeSignal {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Hears of changes of a subject from now on.
    pub(crate) fn watch(&self, subject: Subject) -> watch::Receiver<u64> {
        self.sender(subject).subscribe()
    }

    const fn sender(&self, subject: Subject) -> &watch::Sender<u64> {
        match subject {
            Subject::Bot => &self.bot,
            Subject::Guilds => &self.guilds,
        }
    }
}

#[async_trait]
impl Subscriber for ChangeSignal {
    fn name(&self) -> &'static str {
        "live_pages"
    }

    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        for subject in [Subject::Bot, Subject::Guilds] {
            let concerned = match batch {
                ChangeBatch::Everything => true,
                ChangeBatch::Changes(changes) => {
                    changes.iter().any(|change| Subject::of(change.subject.kind()) == Some(subject))
                }
            };
            if concerned {
                self.sender(subject).send_modify(|change| *change += 1);
            }
        }
        Ok(())
    }
}
