//! Drives Chromium over a pipe with its DevTools protocol: JSON messages that end with a zero byte.
//!
//! A library is not worth it: crates for the protocol generate bindings for all domains, and build slower than
//! everything tested here.

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    env,
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Timeout of every wait, long enough for a machine that is busy with other tests.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Features that pages do not need, and that double the start time.
const DISABLED: [&str; 12] = [
    // Each test opens its own window.
    "--no-startup-window",
    "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-crashpad-for-testing",
    // The first two are pages of the browser's address bar, which load in their own renderer.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,OptimizationHints,Translate,MediaRouter,SpareRendererForSitePerProcess",
    // GPU, network and sites share one process. Different browser contexts have separate ones.
    "--in-process-gpu",
    "--enable-features=NetworkServiceInProcess2",
    "--disable-site-isolation-trials",
    "--renderer-process-limit=1",
];
/// The browser reads commands from descriptor 3 and answers on descriptor 4.
const WITH_PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null"#;

/// A running browser. Killed on drop.
pub(crate) struct Chromium {
    /// In their own group.
    first_process: Child,
    /// What the processes write to: the profile and temporary files, such as the socket by which a second browser would
    /// find the first.
    folder: TempDir,
    commands: Mutex<ChildStdin>,
    last: AtomicU64,
    inbox: Arc<Inbox>,
}

impl Drop for Chromium {
    /// Kills all processes, then removes the folder. Grandchildren cannot be waited for and may still write, so removal
    /// is retried until it succeeds.
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.first_process.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.first_process.wait();
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while fs::remove_dir_all(self.folder.path()).is_err()
            && self.folder.path().exists()
            && Instant::now() < deadline
        {
            thread::yield_now();
        }
    }
}

/// An event of a page.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) session: String,
    pub(crate) method: String,
    pub(crate) about: Value,
}

#[derive(Default)]
struct Inbox {
    /// The file with the error output of the browser.
    errors: PathBuf,
    messages: Mutex<Messages>,
    more: Condvar,
}

#[derive(Default)]
struct Messages {
    answers: HashMap<u64, Value>,
    events: Vec<Event>,
    ended: bool,
}

impl Chromium {
    pub(crate) fn start() -> Arc<Self> {
        let folder = TempDir::new().unwrap();
        let errors = folder.path().join("errors");
        let program = xtask::BROWSERS.into_iter().find(|name| is_installed(name));
        let program = program.expect("Chromium is missing: cargo xtask test --install brings it");
        let mut first_process = Command::new("sh")
            .args(["-c", WITH_PIPES, program])
            .args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run"])
            .args(["--hide-scrollbars", "--force-color-profile=srgb"])
            .args(DISABLED)
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors).unwrap())
            .env("TMPDIR", folder.path())
            .process_group(0)
            .spawn()
            .unwrap();
        let commands = Mutex::new(first_process.stdin.take().unwrap());
        let answers = first_process.stdout.take().unwrap();
        let inbox = Arc::new(Inbox { errors, ..Inbox::default() });
        let listener = Arc::clone(&inbox);
        thread::spawn(move || listener.listen(answers));
        Arc::new(Self { first_process, folder, commands, last: AtomicU64::new(0), inbox })
    }

    /// Sends a command to the browser or one of its pages, and waits for the response.
    pub(crate) fn call(&self, session: Option<&str>, method: &str, parameters: &Value) -> Value {
        self.try_call(session, method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// As [`Chromium::call`], but returns an error, such as that of a page that is being replaced.
    pub(crate) fn try_call(
        &self,
        session: Option<&str>,
        method: &str,
        parameters: &Value,
    ) -> Result<Value, Value> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut command = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.lock().unwrap().write_all(&bytes).unwrap();
        let mut answer = self.inbox.wait(method, |messages| messages.answers.remove(&id));
        if answer.get("error").is_some() { Err(answer["error"].take()) } else { Ok(answer["result"].take()) }
    }

    /// Returns all events of a page so far.
    pub(crate) fn events(&self, session: &str) -> Vec<Event> {
        let messages = self.inbox.messages.lock().unwrap();
        messages.events.iter().filter(|event| event.session == session).cloned().collect()
    }

    /// Returns the number of events so far.
    pub(crate) fn now(&self) -> usize {
        self.inbox.messages.lock().unwrap().events.len()
    }

    /// Waits for an event of a page after the first `since` events.
    pub(crate) fn wait(&self, session: &str, since: usize, method: &str) -> Event {
        self.inbox.wait(method, |messages| {
            let mut later = messages.events[since..].iter();
            later.find(|event| event.session == session && event.method == method).cloned()
        })
    }
}

impl Inbox {
    fn listen(&self, answers: ChildStdout) {
        let mut answers = BufReader::new(answers);
        loop {
            let mut message = Vec::new();
            let ended = answers.read_until(0, &mut message).unwrap_or(0) == 0;
            message.pop();
            let message: Value = serde_json::from_slice(&message).unwrap_or_default();
            let mut messages = self.messages.lock().unwrap();
            match message["id"].as_u64() {
                Some(id) => drop(messages.answers.insert(id, message)),
                None => messages.events.push(Event {
                    session: message["sessionId"].as_str().unwrap_or_default().to_owned(),
                    method: message["method"].as_str().unwrap_or_default().to_owned(),
                    about: message["params"].clone(),
                }),
            }
            messages.ended = ended;
            self.more.notify_all();
            if ended {
                return;
            }
        }
    }

    fn errors(&self) -> String {
        fs::read_to_string(&self.errors).unwrap_or_default()
    }

    fn wait<T>(&self, what: &str, mut find: impl FnMut(&mut Messages) -> Option<T>) -> T {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let mut messages = self.messages.lock().unwrap();
        loop {
            if let Some(found) = find(&mut messages) {
                return found;
            }
            assert!(!messages.ended, "Chromium has ended before {what}: {}", self.errors());
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what} never came");
            messages = self.more.wait_timeout(messages, left).unwrap().0;
        }
    }
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
