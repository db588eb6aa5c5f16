//! Checks key files, and the permissions of files with secrets.

use super::{
    check::{Check, Installation, Subject},
    report::with_fix,
};
use crate::{
    composition::{Keys, OF_OTHERS, grants_any},
    configuration::{Effective, Source, StorageUrl},
    error::ProgramError,
};
use companion_storage_diesel::Inspection;
use std::{collections::BTreeSet, path::Path};

const KEY: Subject = Subject::new("key file", "secrets.key");
const FIT: Subject = Subject::new("key", "secrets.key");
const RIGHTS: Subject = Subject::new("file rights", "storage.url");
const CONFIGURATION_RIGHTS: Subject = Subject::new("file rights", "--config");

pub(super) fn check(installation: &Installation) -> Vec<Check> {
    let mut checks = vec![key(installation)];
    checks.extend(rights(installation));
    checks
}

fn key(installation: &Installation) -> Check {
    if let Err(skipped) = installation.needs(KEY, &["secrets.key", "storage.url"]) {
        return skipped;
    }
    let configuration = &installation.configuration;
    if configuration.secrets.key.is_some() {
        return KEY.ok("it is configured");
    }
    let url = &configuration.storage.url;
    let (StorageUrl::Sqlite(database), Some(file)) = (url, Keys::ring_file(url)) else {
        return KEY.skipped("keys are not kept in files here");
    };
    match Keys::existing_ring(configuration) {
        _ if !file.exists() && !database.exists() => KEY.skipped("serve makes it together with the database"),
        _ if !file.exists() => KEY.warning(
            format!("the database is there, and its key file {} is not", file.display()),
            "restore it; serve makes a new one only if no session needs the old one",
        ),
        Ok(_) => KEY.ok(format!("{} holds a key", file.display())),
        Err(error) => failed(KEY, &error),
    }
}

fn failed(subject: Subject, error: &ProgramError) -> Check {
    let (cause, fix) = with_fix(&error.to_string());
    let cause = cause.strip_prefix("secrets.key: ").unwrap_or(&cause);
    subject.failed(cause, fix.unwrap_or_else(|| "let the user of the service read it".to_owned()))
}

/// Checks whether the key belongs to this database. Returns `None` if that is unknown.
pub(super) fn check_key(installation: &Installation, inspection: Option<&Inspection>) -> Option<Check> {
    installation.needs(FIT, &["secrets.key"]).ok()?;
    match Keys::check_ring(&installation.configuration, &inspection?.sealed) {
        Ok(opened) => opened.then(|| FIT.ok("it opens what is stored")),
        Err(error) => Some(failed(FIT, &error)),
    }
}

fn rights(installation: &Installation) -> Vec<Check> {
    if let Err(skipped) = installation.needs(RIGHTS, &["storage.url"]) {
        return vec![skipped];
    }
    let open = |subject: Subject, file: &Path, rights: &str| {
        subject.warning(
            format!("other users of this machine can read {}", file.display()),
            format!("chmod {rights} {}", file.display()),
        )
    };
    let keys = Keys::open_to_others(&installation.configuration);
    let mut checks: Vec<_> = keys.iter().map(|file| open(RIGHTS, file, "600")).collect();
    // The storage URL is a secret only if it names a server.
    let on_server = matches!(installation.configuration.storage.url, StorageUrl::Postgres(_));
    let is_secret = |known: &&Effective| known.key.secret && (known.key.path != "storage.url" || on_server);
    let sources = installation.effective.iter().filter(is_secret).map(|known| &known.source);
    let files: BTreeSet<_> = sources.filter_map(Source::file).collect();
    // Group access is allowed, because operators grant it to the service's group.
    let open_to_all = files.into_iter().filter(|file| grants_any(file, OF_OTHERS));
    checks.extend(open_to_all.map(|file| open(CONFIGURATION_RIGHTS, file, "o=")));
    if checks.is_empty() {
        checks.push(RIGHTS.ok("what is secret can be read by its owner only"));
    }
    checks
}
