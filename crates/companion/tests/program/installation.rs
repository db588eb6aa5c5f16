//! A whole installation: a folder, a platform, a bot that feeds, and the program in between; and what the program says
//! of it, kept in `transcripts`.
//!
//! Each transcript is the first console block under its heading. To write all of them anew, run the tests one at a time with
//! `COMPANION_WRITE_TRANSCRIPTS=1`, and look at what has changed.

use crate::{
    http,
    program::{Finished, Program, Running},
    stage::{MANAGEMENT_KEY, REDIRECT, account, platform},
    stored::run_statements,
};
use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    path::Path,
    process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use tempfile::TempDir;

pub(crate) const USER: u64 = 190_000_000_000_000_007;

/// What all programs of an installation have in common. Each of its settings can be made wrong.
pub(crate) struct Installation {
    pub(crate) folder: Arc<TempDir>,
    pub(crate) platform: companion_dev_identity::Running,
    pub(crate) settings: BTreeMap<String, String>,
}

impl Installation {
    /// One on which everything is right, and nothing runs yet but the platform.
    pub(crate) fn new() -> Self {
        let platform = platform(REDIRECT, vec![account(USER, &[500])]);
        let (public, management) = (free_address(), free_address());
        let settings = [
            ("HTTP__LISTEN", public.as_str()),
            ("HTTP__ALLOWED_ORIGINS", "[\"https://dashboard.example\"]"),
            ("HTTP__TRUSTED_PROXIES", "[\"127.0.0.1\"]"),
            ("MANAGEMENT__LISTEN", &management),
            ("MANAGEMENT__KEY", "the-management-key"),
            ("IDENTITY__CLIENT_ID", "123"),
            ("IDENTITY__CLIENT_SECRET", "secret"),
            ("IDENTITY__REDIRECT_URI", REDIRECT),
            ("IDENTITY__API_URL", &platform.api_url()),
        ];
        let settings =
            settings.map(|(key, value)| (format!("COMPANION_{key}"), value.to_owned())).into_iter().collect();
        Self { folder: Arc::new(TempDir::new().unwrap()), platform, settings }
    }

    /// The same with a database.
    pub(crate) fn migrated() -> Self {
        let installation = Self::new();
        assert_eq!(installation.program(&["migrate"]).finish().code, Some(0));
        installation
    }

    /// The same with a database that looks as if a later version had been there.
    pub(crate) fn of_a_newer_version() -> Self {
        let installation = Self::migrated();
        let newer = "INSERT OR IGNORE INTO __diesel_schema_migrations (version) VALUES ('9999')";
        run_statements(&installation.folder, newer);
        installation
    }

    /// What stands in its transcripts for what differs from run to run.
    pub(crate) fn normal(&self) -> Normal {
        Normal::new(&[
            (self.public(), "127.0.0.1:8080"),
            (self.management(), "127.0.0.1:8081"),
            (&self.platform.api_url(), "https://platform.example/api"),
            (concat!("version ", env!("CARGO_PKG_VERSION")), "version 0.1.0"),
        ])
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The same with another setting, named as in the environment without its prefix.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.settings.insert(format!("COMPANION_{key}"), value.to_owned());
    }

    pub(crate) fn unset(&mut self, key: &str) {
        self.settings.remove(&format!("COMPANION_{key}")).unwrap();
    }

    pub(crate) fn setting(&self, key: &str) -> &str {
        &self.settings[&format!("COMPANION_{key}")]
    }

    pub(crate) fn public(&self) -> &str {
        self.setting("HTTP__LISTEN")
    }

    pub(crate) fn management(&self) -> &str {
        self.setting("MANAGEMENT__LISTEN")
    }

    pub(crate) fn program(&self, arguments: &[&str]) -> Program {
        let program = Program::within(&self.folder, arguments);
        self.settings.iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// Starts the service, and waits until it serves.
    pub(crate) fn serve(&self) -> Running {
        let mut service = self.program(&["serve"]).env("COMPANION_LOG__FORMAT", "human").start();
        service.public();
        service
    }

    /// Lets the bot report.
    pub(crate) fn report(&self) {
        let report = r#"{"memory": 1, "started_at": 1700000000, "shards": {}}"#;
        let path = "/bot/clusters/one/heartbeat";
        let answer = http::send(self.management(), "PUT", path, &[MANAGEMENT_KEY], report).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    /// Signs the user in, and returns the token.
    pub(crate) fn sign_in(&self) -> String {
        let code = self.platform.control().mint_code(USER);
        let answer = http::ask(self.public(), "POST", "/auth", &[("Idp-Code", &code)]);
        answer.body["data"]["token"].as_str().unwrap().to_owned()
    }
}

/// Returns a free loopback address. It lies below the ephemeral ports, so that no connection takes it before the program
/// binds it, and above port 10080, the last one that browsers block. Each concurrent test has a range of its own.
pub(crate) fn free_address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let slot = std::env::var("NEXTEST_TEST_GLOBAL_SLOT").ok().and_then(|slot| slot.parse::<u32>().ok());
    let first = 11_000 + slot.unwrap_or(0) % 10 * 1_000;
    loop {
        let number = process::id().wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let address = format!("127.0.0.1:{}", first + number % 1_000);
        if TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

/// Starts a platform that answers everyone with a date of 1994 and refuses every code. Returns its address.
pub(crate) fn platform_of_another_time() -> String {
    http::serve(|_, _| {
        let body = r#"{"error": "invalid_grant"}"#;
        let head = "HTTP/1.1 400 Bad Request\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close";
        format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into()
    })
}

/// What stands in a transcript for what differs from run to run.
pub(crate) struct Normal(Vec<(String, String)>);

impl Normal {
    pub(crate) fn new(replacements: &[(&str, &str)]) -> Self {
        let mut pairs: Vec<_> =
            replacements.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        // The longest first, so that no part of it is replaced before.
        pairs.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Self(pairs)
    }

    fn of(&self, text: &str) -> String {
        let text = self.0.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from.as_str(), to));
        text.lines().map(|line| steady(line).trim_end().to_owned() + "\n").collect()
    }

    /// Compares commands, and what came of each, with the transcript under a heading of a file in `transcripts`.
    #[track_caller]
    pub(crate) fn compare(&self, name: &str, heading: &str, steps: &[(&str, &Finished)]) {
        let step = |(command, finished): &(&str, &Finished)| {
            format!("$ {command}\n{}{}", self.of(&finished.out), self.of(&finished.err))
        };
        let transcript: String = steps.iter().map(step).collect();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/transcripts").join(name);
        let text = fs::read_to_string(&file).unwrap();
        let start =
            text.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{name} lacks {heading:?}"));
        let open = "```console\n";
        let start = start + text[start..].find(open).unwrap() + open.len();
        let end = start + text[start..].find("```\n").unwrap();
        if std::env::var_os("COMPANION_WRITE_TRANSCRIPTS").is_some() {
            fs::write(&file, format!("{}{transcript}{}", &text[..start], &text[end..])).unwrap();
            return;
        }
        assert!(
            text[start..end] == *transcript,
            "{name} has under {heading:?}:\n{}\nbut it is now:\n{transcript}",
            &text[start..end]
        );
    }
}

/// The line with the same time and durations, whatever they were.
fn steady(line: &str) -> String {
    let mut words: Vec<_> = line.split(' ').collect();
    for place in 0..words.len() {
        match &words[..=place] {
            [time] if time.starts_with("20") && time.ends_with('Z') => {
                words[place] = "2026-01-31T12:00:00.000000Z";
            }
            [.., "it", "reported", _] => words[place] = "2",
            [.., "it", "reported", "2", _] => words[place] = "s",
            [.., number, unit] if unit.starts_with("ms") && number.parse::<u64>().is_ok() => {
                words[place - 1] = "4";
            }
            _ => {}
        }
    }
    words.join(" ")
}
