//! Notifies open pages of possible changes.

use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    port::{ChangeBatch, StoreError, Subscriber},
};
use std::sync::Arc;
use tokio::sync::watch;

/// What live pages depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The status of the bot.
    Bot,
    /// Guilds, their permissions, and sessions.
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

/// Counts changes for live pages. It must be subscribed after the caches and projections that pages read, so that they
/// are current when a page is notified. Changes of a subject are numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct ChangeSignal {
    bot: watch::Sender<u64>,
    guilds: watch::Sender<u64>,
}

impl ChangeSignal {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Subscribes to changes of a subject from now on.
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
