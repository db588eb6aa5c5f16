//! A page of the browser, as a person uses it.

use crate::browser::chromium::{Chromium, Event, PATIENCE};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Between two looks at a page.
const PAUSE: Duration = Duration::from_millis(20);
/// Where what tests leave for people to look at lies.
const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");

/// The screens that pages are looked at on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    Desktop,
    Phone,
}

impl Screen {
    pub(crate) const fn size(self) -> (u32, u32) {
        match self {
            Self::Desktop => (1280, 800),
            Self::Phone => (360, 720),
        }
    }
}

/// A page in a browser profile of its own: nobody else has its cookies.
pub(crate) struct Page {
    browser: Arc<Chromium>,
    session: String,
    context: String,
}

impl Page {
    /// An empty page of someone new.
    pub(crate) fn of(browser: &Arc<Chromium>) -> Self {
        let context =
            browser.call(None, "Target.createBrowserContext", &json!({}))["browserContextId"].clone();
        Self::within(browser, context.as_str().unwrap())
    }

    /// Another page of the same person.
    pub(crate) fn another(&self) -> Self {
        Self::within(&self.browser, &self.context)
    }

    fn within(browser: &Arc<Chromium>, context: &str) -> Self {
        let target = json!({"url": "about:blank", "browserContextId": context});
        let target = browser.call(None, "Target.createTarget", &target)["targetId"].clone();
        let attached =
            browser.call(None, "Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        let page = Self { browser: Arc::clone(browser), session, context: context.to_owned() };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.on(Screen::Desktop);
        page
    }

    pub(crate) fn call(&self, method: &str, parameters: &Value) -> Value {
        self.browser.call(Some(&self.session), method, parameters)
    }

    /// Looks at it on this screen from now on.
    pub(crate) fn on(&self, screen: Screen) {
        let (width, height) = screen.size();
        let phone = screen == Screen::Phone;
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone});
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Prefers dark colours from now on, or light ones.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            // Colours change at once, and not in a transition that a picture would show half of.
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Switches scripts off.
    pub(crate) fn without_scripts(&self) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    }

    /// Goes to an address, and waits until the page is there.
    pub(crate) fn go(&self, url: &str) {
        let since = self.browser.now();
        let gone = self.call("Page.navigate", &json!({"url": url}));
        assert!(gone.get("errorText").is_none(), "{url}: {gone}");
        self.browser.wait(&self.session, since, "Page.loadEventFired");
    }

    /// Loads the page again.
    pub(crate) fn reload(&self) {
        let since = self.browser.now();
        self.call("Page.reload", &json!({}));
        self.browser.wait(&self.session, since, "Page.loadEventFired");
    }

    /// Does something that leads to another page, and waits until that is there.
    pub(crate) fn led(&self, act: impl FnOnce(&Self)) {
        let since = self.browser.now();
        act(self);
        self.browser.wait(&self.session, since, "Page.loadEventFired");
    }

    /// Follows the link, or presses the button, that has exactly this text or begins with it, once the page has it.
    pub(crate) fn follow(&self, text: &str) {
        let text = Value::from(text);
        let found = format!(
            "(() => {{ const all = [...document.querySelectorAll('a, button')];
             const text = element => element.textContent.trim();
             return all.find(one => text(one) === {text}) ?? all.find(one => text(one).startsWith({text})); }})()"
        );
        // A page that led here by itself may not be done yet, and its end must not be taken for that of the next one.
        self.until(&format!("document.readyState === 'complete' && {found}"));
        self.led(|page| {
            page.evaluate(&format!("{found}.click()"));
        });
    }

    /// What an expression is on the page.
    pub(crate) fn evaluate(&self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        // A page that is being replaced answers with an error, or not with a boolean.
        let asked = json!({"expression": format!("!!({expression})"), "returnByValue": true});
        while self.call("Runtime.evaluate", &asked)["result"]["value"] != true {
            assert!(Instant::now() < deadline, "{expression} never on {}: {}", self.url(), self.text());
            thread::park_timeout(PAUSE);
        }
    }

    /// Waits until the page says this.
    pub(crate) fn until_it_says(&self, text: &str) {
        self.until(&format!("document.body?.innerText.includes({})", Value::from(text)));
    }

    /// Waits until it listens for changes.
    pub(crate) fn until_it_listens(&self) {
        let url = self.url();
        let opened =
            |event: &Event| event.about["type"] == "EventSource" && event.about["response"]["status"] == 200;
        let deadline = Instant::now() + PATIENCE;
        while !self.events("Network.responseReceived").iter().any(opened) {
            assert!(Instant::now() < deadline, "{url} does not listen");
            thread::park_timeout(PAUSE);
        }
    }

    /// Presses a key.
    pub(crate) fn press(&self, key: &str) {
        let (code, number, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            _ => panic!("nobody has told what {key} is"),
        };
        let down = json!({
            "type": if text.is_empty() { "rawKeyDown" } else { "keyDown" }, "key": key, "code": code, "text": text,
            "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number,
        });
        self.call("Input.dispatchKeyEvent", &down);
        let up = json!({"type": "keyUp", "key": key, "code": code, "windowsVirtualKeyCode": number});
        self.call("Input.dispatchKeyEvent", &up);
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        self.evaluate("location.href").as_str().unwrap().to_owned()
    }

    /// The path of where it is.
    pub(crate) fn path(&self) -> String {
        self.evaluate("location.pathname").as_str().unwrap().to_owned()
    }

    /// What it says.
    pub(crate) fn text(&self) -> String {
        self.evaluate("document.body.innerText").as_str().unwrap().to_owned()
    }

    /// Its first heading.
    pub(crate) fn heading(&self) -> String {
        self.evaluate("document.querySelector('h1').innerText").as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) {
        let said = self.text();
        assert!(said.contains(text), "{text:?} is not on {}: {said}", self.url());
    }

    /// The status that the server gave the page.
    pub(crate) fn status(&self) -> u64 {
        let url = self.url();
        let events = self.events("Network.responseReceived");
        let own = events.iter().rfind(|event| {
            event.about["type"] == "Document" && event.about["response"]["url"] == url.as_str()
        });
        own.unwrap().about["response"]["status"].as_u64().unwrap()
    }

    fn events(&self, method: &str) -> Vec<Event> {
        let events = self.browser.events(&self.session);
        events.into_iter().filter(|event| event.method == method).collect()
    }

    /// What was written to the console, by pages or by the browser about them. That a page has the status of an error is
    /// no complaint about the page.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let written = self.events("Runtime.consoleAPICalled").into_iter();
        let thrown = self.events("Runtime.exceptionThrown").into_iter();
        let logged = self.events("Log.entryAdded").into_iter().filter(|event| {
            let entry = &event.about["entry"];
            !(entry["source"] == "network" && entry["url"] == self.url().as_str())
        });
        written.chain(thrown).chain(logged).map(|event| event.about.to_string()).collect()
    }

    /// Everything that was asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = self.events("Network.requestWillBeSent");
        asked.iter().map(|event| event.about["request"]["url"].as_str().unwrap().to_owned()).collect()
    }

    /// From where things were asked for.
    pub(crate) fn origins(&self) -> BTreeSet<String> {
        let origin = |url: String| url.split('/').take(3).collect::<Vec<_>>().join("/");
        self.asked().into_iter().map(origin).collect()
    }

    /// How many answers came, and how many bytes they had on the way, once nothing is under way any more.
    pub(crate) fn weight(&self) -> (usize, u64) {
        let finished = loop {
            let finished = self.events("Network.loadingFinished");
            if finished.len() >= self.asked().iter().filter(|url| !url.contains("/live?")).count() {
                break finished;
            }
            thread::park_timeout(PAUSE);
        };
        let bytes = |event: &Event| event.about["encodedDataLength"].as_f64().unwrap() as u64;
        (finished.len(), finished.iter().map(bytes).sum())
    }

    /// Writes a picture of the whole page for people to look at.
    pub(crate) fn picture(&self, name: &str) {
        let asked = json!({"format": "png", "captureBeyondViewport": true, "optimizeForSpeed": true});
        let picture = self.call("Page.captureScreenshot", &asked);
        let picture = STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        write(&format!("{name}.png"), &picture);
    }
}

/// Leaves a file for people to look at.
pub(crate) fn write(name: &str, content: &[u8]) {
    let folder = PathBuf::from(TARGET).join("screenshots");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), content).unwrap();
}

/// Where `cargo xtask test --install` puts axe, which knows the rules of accessible pages.
const AXE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/axe-core/node_modules/axe-core/axe.min.js");
/// The violations as lines, and the number of rules that passed. Made on the page, so that the elements of rules that passed
/// are neither collected nor sent.
const EXAMINE: &str = "axe.run(document, {resultTypes: ['violations']}).then(({violations, passes}) => [
    violations.map(one => `${one.id} (${one.impact}): ${one.nodes.map(node => node.target).join(', ')}`),
    passes.length])";

/// What axe found on pages.
pub(crate) struct Axe {
    table: String,
    broken: Vec<String>,
}

impl Axe {
    /// Brings axe to every document that the page loads from now on.
    pub(crate) fn on(page: &Page) -> Self {
        let source = fs::read_to_string(AXE).expect("axe is missing: cargo xtask test --install brings it");
        page.call("Page.addScriptToEvaluateOnNewDocument", &json!({"source": source}));
        let table = String::from("| page | screen | rules kept | broken |\n|---|---|---|---|\n");
        Self { table, broken: Vec::new() }
    }

    /// Examines the document that the page shows, as it is shown.
    pub(crate) fn examine(&mut self, page: &Page, path: &str, screen: &str) {
        let found = page.evaluate(EXAMINE);
        let violations = found[0].as_array().unwrap();
        // Without this, an axe that ran no rule at all would find nothing.
        assert!(found[1].as_u64().unwrap() > 0, "no rule passes on {path}");
        let _ = writeln!(self.table, "| `{path}` | {screen} | {} | {} |", found[1], violations.len());
        let line = |one: &Value| format!("{path} on {screen}: {}", one.as_str().unwrap());
        self.broken.extend(violations.iter().map(line));
    }

    /// Leaves the table for people to look at, and fails if a rule is broken.
    pub(crate) fn finish(self, report: &str) {
        write(report, self.table.as_bytes());
        assert!(self.broken.is_empty(), "{}", self.broken.join("\n"));
    }
}
