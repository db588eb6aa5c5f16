//! `companion demo`: a real service, platform and bot, and the printed instructions.

use crate::{
    http,
    program::{Program, Running},
    stage::until,
};
use companion::{
    configuration::{Layers, load},
    demo::{Demo, DemoPorts, PEOPLE, Pace},
};
use serde_json::{Value, json};
use std::{
    fs,
    net::{TcpListener, TcpStream},
    process::Command,
    time::Duration,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Timeout of everything in these tests.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A demo on free ports.
pub(crate) struct Stage {
    pub(crate) demo: Running,
    pub(crate) public: String,
    pub(crate) provider: String,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::of(
            Program::new(&["demo"])
                .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
                .env("COMPANION_MANAGEMENT__LISTEN", "localhost:0"),
        )
    }

    fn of(program: Program) -> Self {
        let mut demo = program.start();
        let public = demo.public();
        let provider = demo.address("Sign-in page:").split('/').next().unwrap().to_owned();
        Self { demo, public, provider }
    }

    /// Returns the printed management key.
    pub(crate) fn key(&mut self) -> String {
        let line = self.demo.said("Management API:");
        line.split_once("key for this run: ").unwrap().1.trim_end_matches(')').to_owned()
    }

    /// Returns the printed code of a sample user.
    pub(crate) fn code(&mut self, name: &str) -> String {
        let line = self.demo.said(&format!("  {name} "));
        line.split_whitespace().next().unwrap().to_owned()
    }

    pub(crate) fn sign_in(&self, code: &str) -> http::Answer {
        http::ask(&self.public, "POST", "/auth", &[("Idp-Code", code)])
    }

    fn guilds_of(&self, code: &str) -> Vec<Value> {
        let session = self.sign_in(code);
        assert_eq!(session.status, 200, "{}", session.body);
        let token = session.body["data"]["token"].as_str().unwrap();
        let guilds = http::get(&self.public, "/guilds", &[("Token", token)]);
        assert_eq!(guilds.status, 200, "{}", guilds.body);
        guilds.body["data"].as_array().unwrap().clone()
    }

    fn get(&self, path: &str) -> Value {
        http::get(&self.public, path, &[]).body["data"].clone()
    }

    /// Requests a page or a picture of the platform.
    fn platform(&self, path: &str) -> http::KeptAnswer {
        http::Kept::to(&self.provider).unwrap().get(path, &[]).unwrap()
    }

    fn temporary_files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.demo.temporary()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Ends the demo with a signal. It leaves no files, and no listener.
    fn leave_with(mut self, signal: &str) {
        let [folder] = &self.temporary_files()[..] else { panic!("{:?}", self.temporary_files()) };
        let database = self.demo.said("Database:");
        assert!(database.contains(&format!("{folder}/companion.db ")), "{database}");
        assert!(self.demo.temporary().join(folder).join("companion.db").exists());
        self.demo.signal(signal);
        let finished = self.demo.ended();
        assert_eq!(finished.code, Some(0), "{}", finished.err);
        assert!(finished.out.starts_with("Companion ") && finished.out.ends_with("Stopped.\n"));
        let distracting = ["migrated", "audit"].iter().any(|part| finished.err.contains(part));
        assert!(!distracting, "pushes the addresses off the screen: {}", finished.err);
        assert_eq!(self.temporary_files(), Vec::<String>::new(), "{signal}");
        assert!(TcpStream::connect(&self.public).is_err() && TcpStream::connect(&self.provider).is_err());
    }
}

fn roles(guilds: &[Value]) -> Vec<&str> {
    guilds.iter().map(|guild| guild["role"].as_str().unwrap()).collect()
}

#[test]
fn a_demo_does_what_it_prints() {
    let mut stage = Stage::new();
    let guild = endpoints_answer_and_each_user_has_an_own_view(&mut stage);
    the_bot_acts_by_settings_and_refuses_one_value(&mut stage, &guild);
    the_sign_in_page_leads_to_a_code(&mut stage);
    the_three_commands_work_repeatedly(&mut stage);
    stage.leave_with("TERM");
}

/// Returns the id of a guild of the owner.
fn endpoints_answer_and_each_user_has_an_own_view(stage: &mut Stage) -> String {
    let owner = stage.code("Sample Owner");
    let guilds = stage.guilds_of(&owner);
    assert_eq!(roles(&guilds), ["Owner", "Owner", "Manager", "Moderator"]);
    assert!(guilds.iter().any(|guild| guild["plus"]["active"] == true));
    let feedback = stage.get("/feedback");
    let feedback = feedback.as_array().unwrap();
    assert_eq!(feedback.len(), 5);
    assert!(feedback.iter().all(|entry| entry["rating"].as_i64().unwrap() >= 4));
    let team = stage.get("/team");
    let categories: Vec<_> = team.as_array().unwrap().iter().map(|member| &member["category"]).collect();
    assert_eq!(categories, ["Leadership", "Leadership", "Engineering", "Engineering", "Support", "Support"]);
    let status = stage.get("/");
    let shards = status["health"]["bot"]["shards"].as_object().unwrap();
    let unwell = shards.values().filter(|shard| shard["latency"].as_f64().unwrap() > 1000.0).count();
    assert_eq!((shards.len(), unwell), (6, 1));
    for (id, shard) in status["health"]["bot"]["shards"].as_object().unwrap() {
        let number = |field: &str| shard[field].as_f64().unwrap();
        let took = (number("heartbeatAcknowledged") - number("heartbeatSent")) * 1000.0;
        assert!(took > 0.0, "shard {id}: {shard}");
        assert!((took - number("latency")).abs() < 1.0, "shard {id}: {took} ms, {shard}");
    }
    for (name, expected) in [
        ("Sample Manager", &["Manager", "Manager", "Administrator"][..]),
        ("Sample Moderator", &["Moderator", "Moderator"]),
        ("Sample Developer", &["Administrator"]),
        ("Sample Visitor", &[]),
    ] {
        let code = stage.code(name);
        assert_eq!(roles(&stage.guilds_of(&code)), expected, "{name}");
    }
    let blocked = stage.code("Sample Blocked User");
    assert_eq!(stage.sign_in(&blocked).status, 403);
    stage.demo.said("a second time it is refused with 401");
    assert_eq!(stage.sign_in(&owner).status, 401);
    guilds[0]["id"].as_str().unwrap().to_owned()
}

fn the_bot_acts_by_settings_and_refuses_one_value(stage: &mut Stage, guild: &str) {
    let (key, path) = (format!("Bearer {}", stage.key()), format!("/bot/guilds/{guild}/settings"));
    let management = stage.demo.address("Management API:");
    let manage = |method: &str, body: &str| {
        let answer = http::send(&management, method, &path, &[("Authorization", &key)], body).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"].clone()
    };
    for (message, greeting, problems) in
        [("Ahoy, {name}!", "Ahoy, Sample Newcomer!", 0), ("Hi @everyone", "Newcomers are not greeted.", 1)]
    {
        manage("PATCH", &json!({"values": {"welcome.message": message}}).to_string());
        until("in force", TIMEOUT, || {
            let shown = manage("GET", "");
            shown["applied"] == shown["revision"]
                && shown["values"]["shown.greeting"] == greeting
                && shown["problems"].as_array().unwrap().len() == problems
        });
    }
}

fn the_sign_in_page_leads_to_a_code(stage: &mut Stage) {
    let address = stage.demo.address("Sign-in page:");
    let path = address.strip_prefix(stage.provider.as_str()).unwrap();
    let page = String::from_utf8(stage.platform(path).body).unwrap();
    assert!(page.contains("Sample Owner") && page.contains("Sample Blocked User"), "{page}");
    assert!(page.contains("owns two guilds, one of them premium"), "{page}");
    let sent_back = stage.platform(&format!("{path}&login_hint=sample_moderator")).head;
    let back_at = format!("http://{}/callback?code=", stage.provider);
    let (_, code) = sent_back.split_once(&back_at).unwrap();
    let code = code.lines().next().unwrap();
    let answer = stage.platform(&format!("/callback?code={code}"));
    let shown = String::from_utf8(answer.body).unwrap();
    let command = format!("-H &#39;Idp-Code: {code}&#39; http://{}/auth", stage.public);
    assert!(answer.status == 200 && shown.contains(&command), "{shown}");
    assert_eq!(roles(&stage.guilds_of(code)), ["Moderator", "Moderator"]);
}

fn the_three_commands_work_repeatedly(stage: &mut Stage) {
    let commands =
        ["  curl -sw '\\n' http://", "  TOKEN=$(curl -s ", "  curl -sw '\\n' -H \"Token: $TOKEN\" http://"];
    let commands = commands.map(|beginning| stage.demo.said(beginning).trim().to_owned());
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("not tried: there is no curl here");
        return;
    }
    for _ in 0..2 {
        let ran = Command::new("sh").arg("-euc").arg(commands.join("\n")).output().unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        assert!(said.ends_with('\n'), "{said}");
        let [status, token, guilds] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
        assert!(status.contains(r#""readable":"3 days and 4 hours""#), "{status}");
        assert!(token.starts_with("cmp_") && !token.contains('"'), "{token}");
        let guilds: Value = serde_json::from_str(guilds).unwrap();
        assert_eq!(roles(guilds["data"].as_array().unwrap()).len(), 4);
    }
}

#[test]
fn listens_on_consecutive_ports_of_loopback_only() {
    // Four consecutive ports that are free at this moment.
    let first = (20_000..60_000)
        .step_by(4)
        .find(|first| (*first..first + 4).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()))
        .unwrap();
    let mut stage = Stage::of(Program::new(&["demo", "--port", &first.to_string()]));
    let (management, dashboard) = (stage.demo.management(), stage.demo.address("Dashboard:"));
    for (port, address) in (first..).zip([&stage.public, &management, &dashboard, &stage.provider]) {
        assert_eq!(*address, format!("127.0.0.1:{port}"));
    }
    assert_eq!(http::get(&management, "/health/ready", &[]).status, 200);
    stage.leave_with("HUP");
    let refused = Program::new(&["demo", "--port", "65533"]).finish();
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for key in ["http", "management", "dashboard"] {
        let variable = format!("COMPANION_{}__LISTEN", key.to_uppercase());
        let program = Program::new(&["demo", "--port", "0"]).env(&variable, "0.0.0.0:0");
        let refused = program.env("COMPANION_DASHBOARD__URL", "http://127.0.0.1:1").finish();
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{}", refused.err);
        let told = format!("{key}.listen: the demo listens on loopback only");
        assert!(refused.err.contains(&told) && refused.err.contains("--port"), "{}", refused.err);
    }
}

/// In this process, so that the bot reports and acts every few milliseconds.
#[test]
fn the_bot_reports_and_records_change_while_users_watch() {
    let given = load(&Layers::none()).unwrap().configuration;
    let runtime = Runtime::new().unwrap();
    let pace = Pace { report: Duration::from_millis(20), step: Duration::from_millis(80) };
    let demo = runtime.block_on(Demo::start(&given, DemoPorts::from(0), pace)).unwrap();
    let public = demo.service.public_address().to_string();
    let get = |path: &str, headers: &[(&str, &str)]| http::get(&public, path, headers).body["data"].clone();
    let [owner, developer] = ["Sample Owner", "Sample Developer"].map(|name| {
        let person = PEOPLE.iter().find(|person| person.name == name).unwrap();
        let code = demo.platform.code_for(person);
        let session = http::ask(&public, "POST", "/auth", &[("Idp-Code", &code)]).body;
        session["data"]["token"].as_str().unwrap().to_owned()
    });
    let guilds = |token: &str| get("/guilds", &[("Token", token)]).as_array().unwrap().clone();
    let last_report = || get("/", &[])["health"]["bot"]["shards"]["0"]["heartbeatSent"].as_f64().unwrap();
    let members = || guilds(&owner).iter().map(|guild| guild["members"].clone()).collect::<Vec<_>>();
    let (reported, first) = (last_report(), members());
    until("the bot reports again", TIMEOUT, || last_report() > reported);
    until("members come", TIMEOUT, || members() != first);
    until("the bot joins a guild", TIMEOUT, || guilds(&developer).len() == 2);
    until("the bot leaves it", TIMEOUT, || guilds(&developer).len() == 1);
    assert_eq!(roles(&guilds(&owner)), ["Owner", "Owner", "Manager", "Moderator"]);
    runtime.block_on(demo.service.stop()).unwrap();
}

#[test]
fn reports_a_busy_port_and_leaves_no_files() {
    let temporary = TempDir::new().unwrap();
    let busy = |http: &str, said: &str| {
        let finished = Program::new(&["demo"])
            .env("COMPANION_HTTP__LISTEN", http)
            .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
            .env("TMPDIR", temporary.path().to_str().unwrap())
            .finish();
        assert_eq!((finished.code, finished.out.as_str()), (Some(1), ""));
        assert!(finished.err.contains(said) && finished.err.contains("--port"), "{}", finished.err);
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    busy(&address, &format!("http.listen: cannot listen on {address}"));
    // If this fails, another program has the port, which serves the purpose too.
    let _provider = TcpListener::bind("127.0.0.1:8083");
    drop(taken);
    busy(&address, "identity provider cannot listen on 127.0.0.1:8083");
}
