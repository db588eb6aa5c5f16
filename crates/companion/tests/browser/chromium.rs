//! Chromium, told what to do over a pipe in its DevTools protocol: JSON that ends with a zero byte.
//!
//! That needs no library: crates for the protocol generate bindings of all its domains, and are slower to build than
//! everything that is tested here.

use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long anything that is waited for may take, on a machine that is busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// What Chromium is called by those who pack it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// It reads commands from the third descriptor and answers on the fourth; a shell puts them there.
const WITH_PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1"#;

/// A running browser. It ends with this.
pub(crate) struct Chromium {
    child: Child,
    commands: Mutex<ChildStdin>,
    last: AtomicU64,
    heard: Arc<Heard>,
    _profile: TempDir,
}

/// Something that happened on a page.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) session: String,
    pub(crate) method: String,
    pub(crate) about: Value,
}

#[derive(Default)]
struct Heard {
    said: Mutex<Said>,
    more: Condvar,
}

#[derive(Default)]
struct Said {
    answers: HashMap<u64, Value>,
    events: Vec<Event>,
    ended: bool,
}

impl Chromium {
    pub(crate) fn start() -> Arc<Self> {
        let profile = TempDir::new().unwrap();
        let program = NAMES.into_iter().find(|name| runs(name));
        let program = program.expect("Chromium is missing: cargo xtask test --install brings it");
        let mut child = Command::new("sh")
            .args(["-c", WITH_PIPES, program])
            .args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run"])
            .args(["--hide-scrollbars", "--force-color-profile=srgb"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = Mutex::new(child.stdin.take().unwrap());
        let answers = child.stdout.take().unwrap();
        let heard = Arc::new(Heard::default());
        let listener = Arc::clone(&heard);
        thread::spawn(move || listener.listen(answers));
        Arc::new(Self { child, commands, last: AtomicU64::new(0), heard, _profile: profile })
    }

    /// Tells the browser, or one of its pages, to do something, and waits until it has.
    pub(crate) fn call(&self, session: Option<&str>, method: &str, parameters: &Value) -> Value {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut command = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.lock().unwrap().write_all(&bytes).unwrap();
        let answer = self.heard.wait(method, |said| said.answers.remove(&id));
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Everything that happened on a page so far.
    pub(crate) fn events(&self, session: &str) -> Vec<Event> {
        let said = self.heard.said.lock().unwrap();
        said.events.iter().filter(|event| event.session == session).cloned().collect()
    }

    /// How much has happened so far.
    pub(crate) fn now(&self) -> usize {
        self.heard.said.lock().unwrap().events.len()
    }

    /// Waits for something that happens on a page after the first `since` events.
    pub(crate) fn wait(&self, session: &str, since: usize, method: &str) -> Event {
        self.heard.wait(method, |said| {
            let mut later = said.events[since..].iter();
            later.find(|event| event.session == session && event.method == method).cloned()
        })
    }
}

impl Heard {
    fn listen(&self, answers: ChildStdout) {
        let mut answers = BufReader::new(answers);
        loop {
            let mut message = Vec::new();
            let ended = answers.read_until(0, &mut message).unwrap_or(0) == 0;
            message.pop();
            let message: Value = serde_json::from_slice(&message).unwrap_or_default();
            let mut said = self.said.lock().unwrap();
            match message["id"].as_u64() {
                Some(id) => drop(said.answers.insert(id, message)),
                None => said.events.push(Event {
                    session: message["sessionId"].as_str().unwrap_or_default().to_owned(),
                    method: message["method"].as_str().unwrap_or_default().to_owned(),
                    about: message["params"].clone(),
                }),
            }
            said.ended = ended;
            self.more.notify_all();
            if ended {
                return;
            }
        }
    }

    fn wait<T>(&self, what: &str, mut find: impl FnMut(&mut Said) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut said = self.said.lock().unwrap();
        loop {
            if let Some(found) = find(&mut said) {
                return found;
            }
            assert!(!said.ended, "Chromium has ended before {what}");
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what} never came");
            said = self.more.wait_timeout(said, left).unwrap().0;
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
