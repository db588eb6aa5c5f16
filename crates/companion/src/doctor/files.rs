//! Checks key files, and the permissions of files with secrets.

use super::{
    check::{Check, Installation, Subject},
    database::Database,
    report::with_fix,
};
use crate::{
    composition::{CompositionError, Keys, is_open_to_all},
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

fn failed(subject: Subject, error: &CompositionError) -> Check {
    let (cause, fix) = with_fix(&error.to_string());
    let cause = cause.strip_prefix("secrets.key: ").unwrap_or(&cause);
    subject.failed(cause, fix.unwrap_or_else(|| "let the user of the service read it".to_owned()))
}

/// Checks whether the key belongs to this database. Returns `None` if that is unknown.
pub(super) fn check_key(installation: &Installation, database: &Database) -> Option<Check> {
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
    // Group access is allowed, because operators grant it to the service's group.
    let open_to_all = with_secrets.iter().filter(|file| is_open_to_all(file));
    checks.extend(open_to_all.map(|file| open(CONFIGURATION_RIGHTS, file, "o=")));
    if checks.is_empty() {
        checks.push(RIGHTS.ok("what is secret can be read by its owner only"));
    }
    checks
}

/// Returns the configuration files that contain secrets. The storage URL counts only if it names a server.
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
