//! Keys in files, and who can read what is secret.

use super::{
    check::{Check, Installation, Subject},
    database::Database,
    report::with_fix,
};
use crate::{
    composition::{Keys, Unserviceable, is_open_to_all},
    configuration::{Source, StorageUrl},
};
use std::{collections::BTreeSet, path::PathBuf};

const KEY: Subject = Subject::new("key file", "secrets.key");
const FIT: Subject = Subject::new("key", "secrets.key");
const RIGHTS: Subject = Subject::new("file rights", "storage.url");
const CONFIGURATION_RIGHTS: Subject = Subject::new("file rights", "--config");

pub(super) fn check(installation: &Installation) -> Vec<Check> {
    let mut checks = vec![key(installation).unwrap_or_else(|skipped| skipped)];
    checks.extend(rights(installation));
    checks
}

fn key(installation: &Installation) -> Result<Check, Check> {
    installation.needs(KEY, &["secrets.key", "storage.url"])?;
    let configuration = &installation.configuration;
    if configuration.secrets.key.is_some() {
        return Ok(KEY.ok("it is configured"));
    }
    let StorageUrl::Sqlite(database) = &configuration.storage.url else {
        return Err(KEY.skipped("keys are not kept in files here"));
    };
    let file = Keys::file_beside(database);
    if !file.exists() {
        return Ok(match database.exists() {
            true => KEY.warning(
                format!("the database is there, and its key file {} is not", file.display()),
                "restore it; serve makes a new one only if no session needs the old one",
            ),
            false => KEY.skipped("serve makes it together with the database"),
        });
    }
    Ok(match Keys::existing_ring(configuration) {
        Ok(_) => KEY.ok(format!("{} holds a key", file.display())),
        Err(error) => failed(KEY, &error),
    })
}

fn failed(subject: Subject, error: &Unserviceable) -> Check {
    let (cause, fix) = with_fix(&error.to_string());
    let cause = cause.strip_prefix("secrets.key: ").unwrap_or(&cause);
    subject.failed(cause, fix.unwrap_or_else(|| "let the user of the service read it".to_owned()))
}

/// Whether the key is the one of this database. Returns `None` if that cannot be told.
pub(super) fn fit(installation: &Installation, database: &Database) -> Option<Check> {
    installation.needs(FIT, &["secrets.key"]).ok()?;
    let sealed = &database.inspection.as_ref()?.sealed;
    match Keys::check_ring(&installation.configuration, sealed) {
        Ok(opened) => opened.then(|| FIT.ok("it opens what is stored")),
        Err(error) => Some(failed(FIT, &error)),
    }
}

fn rights(installation: &Installation) -> Vec<Check> {
    if let Err(skipped) = installation.needs(RIGHTS, &["storage.url"]) {
        return vec![skipped];
    }
    let open = |subject: Subject, file: &PathBuf, rights: &str| {
        subject.warning(
            format!("other users of this machine can read {}", file.display()),
            format!("chmod {rights} {}", file.display()),
        )
    };
    let keys = Keys::open_to_others(&installation.configuration);
    let mut checks: Vec<_> = keys.iter().map(|file| open(RIGHTS, file, "600")).collect();
    let with_secrets = files_with_secrets(installation);
    // Whose group may read it was written by someone for the service.
    let open_to_all = with_secrets.iter().filter(|file| is_open_to_all(file));
    checks.extend(open_to_all.map(|file| open(CONFIGURATION_RIGHTS, file, "o=")));
    if checks.is_empty() {
        checks.push(RIGHTS.ok("what is secret can be read by its owner only"));
    }
    checks
}

/// Files that a secret was read from. Where storage is a file, its address is none.
fn files_with_secrets(installation: &Installation) -> BTreeSet<PathBuf> {
    let on_server = matches!(installation.configuration.storage.url, StorageUrl::Postgres(_));
    let secret = installation
        .effective
        .iter()
        .filter(|known| known.key.secret && (known.key.path != "storage.url" || on_server));
    secret
        .filter_map(|known| match &known.source {
            Source::Line(path, _) | Source::SecretFile(_, path) => Some(path.clone()),
            Source::Default | Source::File(_) | Source::Variable(_) | Source::Together => None,
        })
        .collect()
}
