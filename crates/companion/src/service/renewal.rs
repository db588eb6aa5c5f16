//! Files that may be replaced while the service runs: the TLS certificate and management keys.

use crate::configuration::{Configuration, KeyError, ScopedKey, TlsFiles, TlsText};
use companion_domain::port::Clock;
use companion_http::{Tls, TlsIdentity};
use companion_management::ManagementKeys;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{task::spawn_blocking, time::sleep};

/// Interval at which the certificate is read.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which key files are read. They are short, and reading detects every way of replacing one.
const KEY_INTERVAL: Duration = Duration::from_millis(500);
/// Rounds after which a persistent problem is logged. Two files are replaced one after the other, so one bad round is
/// normal.
const ROUNDS_BEFORE_LOG: u32 = 2;

/// The certificate in use, and the files it comes from.
pub(super) struct OwnTls {
    files: TlsFiles,
    tls: Tls,
    /// The content of the files in use.
    shown: TlsText,
    /// The current problem of the files, and the number of rounds it has lasted.
    problem: Option<(String, u32)>,
    clock: Arc<dyn Clock>,
}

impl OwnTls {
    /// Reads the configured certificate. Returns `None` if TLS is not configured.
    pub(super) fn open(
        configuration: &Configuration,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Self>, KeyError> {
        let Some(files) = TlsFiles::of(&configuration.http) else { return Ok(None) };
        let shown = files.read()?;
        let identity = files.identity(&shown)?;
        warn_if_over(&identity, &**clock);
        let (tls, clock) = (Tls::new(identity), Arc::clone(clock));
        Ok(Some(Self { files, tls, shown, problem: None, clock }))
    }

    /// Returns the TLS configuration for the listeners.
    pub(super) fn tls(&self) -> Tls {
        self.tls.clone()
    }

    /// Polls the files and switches to their content when it changes.
    pub(super) async fn follow(mut self) {
        loop {
            sleep(CERTIFICATE_INTERVAL).await;
            let files = self.files.clone();
            match spawn_blocking(move || files.read()).await {
                Ok(Ok(text)) => self.show(text),
                Ok(Err(error)) => self.note(&error),
                Err(_) => {}
            }
        }
    }

    fn show(&mut self, text: TlsText) {
        if text == self.shown {
            self.problem = None;
            return;
        }
        match self.files.identity(&text) {
            Ok(identity) => {
                warn_if_over(&identity, &*self.clock);
                self.tls.exchange(identity);
                (self.shown, self.problem) = (text, None);
                tracing::info!("the certificate was replaced");
            }
            Err(error) => self.note(&error),
        }
    }

    fn note(&mut self, error: &KeyError) {
        let problem = format!("{} {}", error.key, error.problem);
        let rounds = match &self.problem {
            Some((known, rounds)) if *known == problem => rounds + 1,
            Some(_) | None => 1,
        };
        if rounds == ROUNDS_BEFORE_LOG {
            tracing::error!(
                problem,
                fix = error.fix,
                "the certificate was not replaced; the last one stays in use"
            );
        }
        self.problem = Some((problem, rounds));
    }
}

fn warn_if_over(identity: &TlsIdentity, clock: &dyn Clock) {
    if identity.ends_at().is_some_and(|end| end <= clock.now()) {
        tracing::warn!(
            "the certificate of http.tls_certificate has expired, and clients will refuse it; renew it"
        );
    }
}

/// Polls files with management keys, and accepts the keys they hold.
pub(super) async fn follow_keys(keys: ManagementKeys, files: Vec<ScopedKey>) {
    let files: Arc<[ScopedKey]> = files.into();
    // The last error of each file, so that it is logged once.
    let mut refused = BTreeMap::new();
    while !files.is_empty() {
        sleep(KEY_INTERVAL).await;
        let read = {
            let files = Arc::clone(&files);
            spawn_blocking(move || files.iter().map(|file| file.source.read()).collect::<Vec<_>>())
        };
        let Ok(read) = read.await else { continue };
        for (ScopedKey { name, .. }, read) in files.iter().zip(read) {
            let exchanged = read.map_err(|error| error.to_string()).and_then(|key| {
                let taken = |other| format!("its file holds the same key as {other}");
                keys.exchange(name, &key.0).map_err(taken)
            });
            note(&mut refused, name.as_str(), exchanged);
        }
    }
}

fn note(refused: &mut BTreeMap<String, String>, name: &str, exchanged: Result<bool, String>) {
    match exchanged {
        Ok(exchanged) => {
            refused.remove(name);
            if exchanged {
                tracing::info!(key = name, "a management key was replaced");
            }
        }
        Err(why) if refused.get(name) != Some(&why) => {
            tracing::error!(key = name, why, "a management key was not replaced; the last one stays in use");
            refused.insert(name.to_owned(), why);
        }
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        configuration::{self, Layers},
        system::SystemClock,
    };
    use companion_testkit::api::captured_log::listening;
    use rcgen::{CertificateParams, CertifiedKey, KeyPair, date_time_ymd, generate_simple_self_signed};
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::{fs, path::Path};

    fn made() -> CertifiedKey<KeyPair> {
        generate_simple_self_signed(["localhost".to_owned()]).unwrap()
    }

    fn write(folder: &Path, made: &CertifiedKey<KeyPair>) {
        fs::write(folder.join("certificate.pem"), made.cert.pem()).unwrap();
        fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    }

    #[test]
    fn keeps_the_last_pair_and_logs_a_broken_or_expired_one() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &made());
        let path = |name: &str| folder.path().join(name).display().to_string();
        let layers = Layers::none()
            .with("COMPANION_HTTP__TLS_CERTIFICATE", &path("certificate.pem"))
            .with("COMPANION_HTTP__TLS_KEY", &path("key.pem"));
        let configuration = configuration::load_for_serving(&layers).unwrap().configuration;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut own = OwnTls::open(&configuration, &clock).unwrap().unwrap();
        let (lines, _guard) = listening();
        let round = |own: &mut OwnTls| match own.files.read() {
            Ok(text) => own.show(text),
            Err(error) => own.note(&error),
        };
        let told = "the certificate was not replaced; the last one stays in use";

        // In one round, only one of the files may have been replaced.
        let renewed = made();
        fs::write(folder.path().join("key.pem"), renewed.signing_key.serialize_pem()).unwrap();
        round(&mut own);
        write(folder.path(), &renewed);
        round(&mut own);
        let log = lines.take();
        assert!(log.contains("the certificate was replaced") && !log.contains(told), "{log}");

        let certificate = folder.path().join("certificate.pem");
        let breaks: [(&dyn Fn(), &str); 3] = [
            (&|| fs::write(&certificate, "broken").unwrap(), "holds no certificate in PEM"),
            (&|| fs::remove_file(&certificate).unwrap(), "cannot be read: No such file"),
            (
                &|| mkfifoat(CWD, &certificate, Mode::RUSR | Mode::WUSR).unwrap(),
                "certificate.pem cannot be read: it is not a regular file",
            ),
        ];
        for (broken, why) in breaks {
            broken();
            let shown = own.shown.clone();
            for _ in 0..5 {
                round(&mut own);
            }
            let log = lines.take();
            assert_eq!((log.matches(told).count(), log.matches("ERROR").count()), (1, 1), "{log}");
            assert!(log.contains(why) && own.shown == shown, "{log}");
        }
        fs::remove_file(&certificate).unwrap();
        let mut parameters = CertificateParams::new(["localhost".to_owned()]).unwrap();
        parameters.not_after = date_time_ymd(2020, 1, 1);
        let signing_key = KeyPair::generate().unwrap();
        let cert = parameters.self_signed(&signing_key).unwrap();
        write(folder.path(), &CertifiedKey { cert, signing_key });
        round(&mut own);
        let log = lines.take();
        for told in ["the certificate was replaced", "has expired, and clients will refuse it"] {
            assert!(log.contains(told), "{log}");
        }
    }
}
