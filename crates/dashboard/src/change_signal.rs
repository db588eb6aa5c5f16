//! Notifies open pages of possible changes.

use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    port::{ChangeBatch, StoreError, Subscriber},
};
use tokio::sync::watch;

/// What live pages depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The status of the bot.
    Bot,
    /// Guilds, their permissions, and sessions.
    Guilds,
    /// Settings of guilds, names of their roles, and all that [`Subject::Guilds`] stands for.
    Settings,
}

impl Subject {
    /// Returns whether it depends on this kind.
    const fn depends_on(self, kind: Kind) -> bool {
        let is_of_guilds = kind.is_listed() || matches!(kind, Kind::Session);
        match self {
            Self::Bot => matches!(kind, Kind::Cluster | Kind::Period | Kind::Notice),
            Self::Guilds => is_of_guilds,
            Self::Settings => {
                is_of_guilds || matches!(kind, Kind::Settings | Kind::Applied | Kind::Schema | Kind::Outline)
            }
        }
    }
}

/// Counts changes for live pages. It must be subscribed after the caches and projections that pages read, so that they
/// are current when a page is notified. Changes of a subject are numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct ChangeSignal {
    bot: watch::Sender<u64>,
    guilds: watch::Sender<u64>,
    settings: watch::Sender<u64>,
}

impl ChangeSignal {
    /// Subscribes to changes of a subject from now on.
    pub(crate) fn watch(&self, subject: Subject) -> watch::Receiver<u64> {
        let sender = match subject {
            Subject::Bot => &self.bot,
            Subject::Guilds => &self.guilds,
            Subject::Settings => &self.settings,
        };
        sender.subscribe()
    }
}

#[async_trait]
impl Subscriber for ChangeSignal {
    fn name(&self) -> &'static str {
        "live_pages"
    }

    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        for (subject, sender) in
            [(Subject::Bot, &self.bot), (Subject::Guilds, &self.guilds), (Subject::Settings, &self.settings)]
        {
            sender.send_if_modified(|change| {
                let concerned = match batch {
                    ChangeBatch::Everything => true,
                    ChangeBatch::Changes(changes) => {
                        changes.iter().any(|change| subject.depends_on(change.subject.kind()))
                    }
                };
                *change += u64::from(concerned);
                concerned
            });
        }
        Ok(())
    }
}
