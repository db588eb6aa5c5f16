//! PostgreSQL refuses to run as root: there, another account runs it.

#[cfg(unix)]
pub(super) use unix::Account;

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::Command;

    use anyhow::{Context, Result};

    /// The one that PostgreSQL's package makes, then the one that every system has.
    const NAMES: [&str; 2] = ["postgres", "nobody"];

    #[derive(Debug)]
    pub(in crate::postgres) struct Account {
        user: u32,
        group: u32,
    }

    impl Account {
        /// None where this process is not root; otherwise the account, which now owns the folder.
        pub(in crate::postgres) fn instead_of_root(folder: &Path) -> Result<Option<Self>> {
            // Whoever made the folder owns it, which tells who this process is.
            if fs::metadata(folder)?.uid() != 0 {
                return Ok(None);
            }
            let account = NAMES.iter().find_map(|name| Self::named(name)).with_context(|| {
                format!("PostgreSQL does not run as root, and there is no user {}", NAMES.join(" or "))
            })?;
            chown(folder, Some(account.user), Some(account.group))?;
            Ok(Some(account))
        }

        fn named(name: &str) -> Option<Self> {
            let id = |kind: &str| {
                let output = Command::new("id").args([kind, name]).output().ok()?;
                String::from_utf8(output.stdout).ok()?.trim().parse().ok()
            };
            Some(Self { user: id("-u")?, group: id("-g")? })
        }

        pub(in crate::postgres) fn runs(&self, command: &mut Command) {
            command.uid(self.user).gid(self.group);
        }
    }
}

/// Elsewhere there is no root.
#[cfg(not(unix))]
#[derive(Debug)]
pub(super) struct Account;

#[cfg(not(unix))]
impl Account {
    pub(super) fn instead_of_root(_: &std::path::Path) -> anyhow::Result<Option<Self>> {
        Ok(None)
    }

    pub(super) fn runs(&self, _: &mut std::process::Command) {}
}
