//! Executes the commands of the documentation. The second word of a fence selects how: `run` in an empty folder, `run
//! stored` in a folder with a database, `demo` beside a running demo. Other blocks are not executed.
//!
//! The blocks of a page form one script. It stops at the first command that fails, and an HTTP error is a failure.

use super::{Block, pages, root, split};
use crate::{demo::Stage, http};
use std::{
    fs,
    net::TcpListener,
    os::unix::{
        fs::{PermissionsExt as _, symlink},
        process::CommandExt as _,
    },
    path::Path,
    process::{Command, Stdio},
    thread,
};
use tempfile::TempDir;

/// Timeout of a page's script, in seconds.
const SCRIPT_TIMEOUT: &str = "300";
/// Sends SIGINT where a page sends SIGTERM: the service stops as gracefully, but without the notice period.
const KILL: &str = r#"kill() { case "$1" in -*) command kill "$@";; *) command kill -s INT "$@";; esac; }"#;
/// The addresses that the pages use: public, management, dashboard, and the demo's provider.
const DOCUMENTED_ADDRESSES: [&str; 4] =
    ["127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:8082", "127.0.0.1:8083"];

/// Returns the commands of a block. In a console block they begin with a prompt; other lines are output.
fn commands(block: &Block) -> Vec<String> {
    let console = block.words.first().is_some_and(|language| language == "console");
    let (mut found, mut goes_on) = (Vec::new(), false);
    for line in &block.lines {
        let command = if console && !goes_on { line.strip_prefix("$ ") } else { Some(line.as_str()) };
        goes_on = command.is_some_and(|command| command.ends_with('\\'));
        found.extend(command.map(str::to_owned));
    }
    found
}

/// The blocks of one class on a page, as one script.
struct Script {
    page: String,
    text: String,
}

fn scripts(class: &str) -> Vec<Script> {
    let of_page = |page: &Path| {
        let text = fs::read_to_string(page).unwrap();
        let blocks: Vec<_> = split(&text)
            .1
            .into_iter()
            .filter(|block| block.words.get(1).is_some_and(|word| word == class))
            .collect();
        let stored = blocks.iter().any(|block| block.words.get(2).is_some_and(|word| word == "stored"));
        let migrate = stored.then(|| "companion migrate".to_owned());
        let lines: Vec<_> = migrate.into_iter().chain(blocks.iter().flat_map(commands)).collect();
        let page = page.strip_prefix(root()).unwrap().display().to_string();
        (!lines.is_empty()).then(|| Script { page, text: lines.join("\n") })
    };
    pages().iter().filter_map(|page| of_page(page)).collect()
}

/// A folder with the program, a strict `curl` and a short `sleep` on the path.
struct Desk {
    folder: TempDir,
    environment: Vec<(&'static str, String)>,
}

impl Desk {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let programs = folder.path().join("bin");
        fs::create_dir_all(&programs).unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        symlink(env!("CARGO_BIN_EXE_companion"), programs.join("companion")).unwrap();
        let curl = "#!/bin/sh\nPATH=${PATH#*:}\nexec curl --fail-with-body \"$@\"\n";
        // The pages sleep for seconds where milliseconds are enough.
        let sleep = "#!/bin/sh\nPATH=${PATH#*:}\nexec sleep 0.05\n";
        for (name, text) in [("curl", curl), ("sleep", sleep)] {
            fs::write(programs.join(name), text).unwrap();
            fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder, environment: Vec::new() }
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join("work").join(name), text).unwrap();
    }

    /// Runs a script with the addresses of the pages replaced by these, and ends its background processes.
    fn run(&self, script: &Script, addresses: &[String]) {
        let mut text = format!("{KILL}\n{}", script.text);
        for (usual, actual) in DOCUMENTED_ADDRESSES.iter().zip(addresses) {
            text = text.replace(usual, actual);
        }
        let said = self.folder.path().join("said");
        let output = fs::File::create(&said).unwrap();
        let path = format!("{}:{}", self.folder.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("timeout")
            .args([SCRIPT_TIMEOUT, "sh", "-eux", "-c", &text])
            .current_dir(self.folder.path().join("work"))
            .env_clear()
            .env("PATH", path)
            .env("TMPDIR", self.folder.path())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("COMPANION_HTTP__LISTEN", &addresses[0])
            .env("COMPANION_MANAGEMENT__LISTEN", &addresses[1])
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0)
            .spawn()
            .unwrap();
        let status = shell.wait().unwrap();
        let group = format!("-{}", shell.id());
        let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(Stdio::null()).status();
        assert!(
            status.success(),
            "{} ended with {status}:\n{}",
            script.page,
            fs::read_to_string(&said).unwrap()
        );
    }
}

fn missing(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| Command::new(program).arg("--version").output().is_err());
    missing.inspect(|program| eprintln!("not tried: there is no {program} here")).is_some()
}

#[test]
fn documented_commands_work_in_an_empty_folder() {
    if missing(&["curl", "openssl", "timeout"]) {
        return;
    }
    let scripts = scripts("run");
    assert!(scripts.iter().any(|script| script.page == "docs/operate.md"), "the drills are run");
    // Free a moment ago; the pages need to know them beforehand.
    let listeners: Vec<_> =
        scripts.iter().map(|_| [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap())).collect();
    let addresses: Vec<_> = listeners
        .into_iter()
        .map(|pair| pair.map(|listener| listener.local_addr().unwrap().to_string()))
        .collect();
    thread::scope(|scope| {
        for (script, addresses) in scripts.iter().zip(&addresses) {
            scope.spawn(move || Desk::new().run(script, addresses));
        }
    });
}

#[test]
fn documented_commands_work_beside_a_demo() {
    if missing(&["curl", "timeout"]) {
        return;
    }
    let scripts = scripts("demo");
    assert!(scripts.iter().any(|script| script.page == "docs/management.md"), "the feed is run");
    for mut script in scripts {
        let mut stage = Stage::new();
        let (demo, provider) = (&mut stage.demo, stage.provider.clone());
        let addresses = [demo.public(), demo.management(), demo.address("Dashboard:"), provider];
        let database = demo.said("Database:").split_whitespace().nth(1).unwrap().to_owned();
        let (key, code) = (stage.key(), stage.code("Sample Owner"));
        // A sample user, and a guild that the user manages.
        let session = stage.sign_in(&code).body["data"].clone();
        let token = ("Token", session["token"].as_str().unwrap());
        let guilds = http::get(&stage.public, "/guilds", &[token]).body;
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let (user, guild) = (text(&session["user"]["id"]), text(&guilds["data"][0]["id"]));
        // Replace the placeholders as a reader would.
        for (placeholder, value) in [
            ("Bearer KEY", format!("Bearer {key}")),
            ("DATABASE", database.clone()),
            ("USER", user),
            ("GUILD", guild),
        ] {
            script.text = script.text.replace(placeholder, &value);
        }
        let mut desk = Desk::new();
        desk.environment.push(("COMPANION_STORAGE__URL", format!("sqlite:{database}")));
        desk.put("companion.db.management-key", &key);
        desk.run(&script, &addresses);
    }
}
