//! A browser page, used as a person would.

use crate::{
    browser::chromium::{Chromium, Event, WAIT_TIMEOUT},
    stage::until,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The folder of files for people to look at.
const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");

/// The screens on which pages are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    Desktop,
    Tablet,
    Phone,
}

impl Screen {
    pub(crate) const fn size(self) -> (u32, u32) {
        match self {
            Self::Desktop => (1280, 800),
            Self::Tablet => (768, 1024),
            Self::Phone => (390, 844),
        }
    }
}

/// A page in its own browser context, with its own cookies.
pub(crate) struct Page {
    browser: Arc<Chromium>,
    session: String,
    context: String,
}

impl Page {
    /// Opens an empty page in a new context.
    pub(crate) fn of(browser: &Arc<Chromium>) -> Self {
        let context =
            browser.call(None, "Target.createBrowserContext", &json!({}))["browserContextId"].clone();
        Self::within(browser, context.as_str().unwrap())
    }

    /// Opens another page in the same context.
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

    /// Switches to this screen.
    pub(crate) fn on(&self, screen: Screen) {
        let (width, height) = screen.size();
        let phone = screen == Screen::Phone;
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone});
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sets the preferred colour scheme.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            // Without transitions, so that screenshots show final colours.
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Disables scripts.
    pub(crate) fn without_scripts(&self) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    }

    /// Navigates to a URL, and waits until the page has loaded.
    pub(crate) fn go(&self, url: &str) {
        self.led(|page| {
            let gone = page.call("Page.navigate", &json!({"url": url}));
            assert!(gone.get("errorText").is_none(), "{url}: {gone}");
        });
    }

    /// Reloads the page.
    pub(crate) fn reload(&self) {
        self.led(|page| drop(page.call("Page.reload", &json!({}))));
    }

    /// Does something that navigates, and waits until the next page has loaded.
    pub(crate) fn led(&self, act: impl FnOnce(&Self)) {
        let since = self.browser.now();
        act(self);
        self.browser.wait(&self.session, since, "Page.loadEventFired");
    }

    /// Clicks the link or button whose text equals or begins with this, once it exists.
    pub(crate) fn follow(&self, text: &str) {
        let text = Value::from(text);
        let found = format!(
            "(() => {{ const all = [...document.querySelectorAll('a, button')];
             const text = element => element.textContent.trim();
             return all.find(one => text(one) === {text}) ?? all.find(one => text(one).startsWith({text})); }})()"
        );
        // A page reached by a redirect may still be loading, and its load event must not be taken for the next page's.
        self.until(&format!("document.readyState === 'complete' && {found}"));
        self.click(&found);
    }

    /// Clicks an element that navigates, and waits until the next page has loaded.
    pub(crate) fn click(&self, element: &str) {
        self.led(|page| {
            // The page may be replaced before it answers.
            let clicked = page.try_evaluate(&format!("{element}.click()")).unwrap_or_default();
            assert!(clicked.get("exceptionDetails").is_none(), "{element}: {clicked}");
        });
    }

    /// Evaluates an expression on the page.
    pub(crate) fn evaluate(&self, expression: &str) -> Value {
        let answer = self.try_evaluate(expression).unwrap();
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Returns an error if the page is being replaced.
    fn try_evaluate(&self, expression: &str) -> Result<Value, Value> {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        self.browser.try_call(Some(&self.session), "Runtime.evaluate", &asked)
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&self, expression: &str) {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let asked = format!("!!({expression})");
        // A page that is being replaced answers with an error, or without a boolean.
        while !self.try_evaluate(&asked).is_ok_and(|answer| answer["result"]["value"] == true) {
            assert!(Instant::now() < deadline, "{expression} never on {}: {}", self.url(), self.text());
            thread::park_timeout(POLL_INTERVAL);
        }
    }

    /// Waits until the page contains this text.
    pub(crate) fn until_it_says(&self, text: &str) {
        self.until(&format!("document.body?.innerText.includes({})", Value::from(text)));
    }

    /// Waits until the current document has opened its event stream.
    pub(crate) fn until_it_listens(&self) {
        let url = self.url();
        let is_listening = || {
            let events = self.events("Network.responseReceived");
            let mut of_document = events.iter().rev().take_while(|event| event.about["type"] != "Document");
            of_document
                .any(|event| event.about["type"] == "EventSource" && event.about["response"]["status"] == 200)
        };
        until(&format!("{url} listens"), WAIT_TIMEOUT, is_listening);
    }

    /// Presses a key.
    pub(crate) fn press(&self, key: &str) {
        let (code, number, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            "Escape" => ("Escape", 27, ""),
            _ => panic!("unknown key {key}"),
        };
        let down = json!({
            "type": if text.is_empty() { "rawKeyDown" } else { "keyDown" }, "key": key, "code": code, "text": text,
            "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number,
        });
        self.call("Input.dispatchKeyEvent", &down);
        let up = json!({"type": "keyUp", "key": key, "code": code, "windowsVirtualKeyCode": number});
        self.call("Input.dispatchKeyEvent", &up);
    }

    /// Returns its URL.
    pub(crate) fn url(&self) -> String {
        self.evaluate("location.href").as_str().unwrap().to_owned()
    }

    /// Returns the path of its URL.
    pub(crate) fn path(&self) -> String {
        self.evaluate("location.pathname").as_str().unwrap().to_owned()
    }

    /// Returns its visible text.
    pub(crate) fn text(&self) -> String {
        self.evaluate("document.body.innerText").as_str().unwrap().to_owned()
    }

    /// Returns its first heading.
    pub(crate) fn heading(&self) -> String {
        self.evaluate("document.querySelector('h1').innerText").as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) {
        let said = self.text();
        assert!(said.contains(text), "{text:?} is not on {}: {said}", self.url());
    }

    /// Returns the HTTP status of the page.
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

    /// Returns the console messages and exceptions. The message about a page with an error status is left out.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let written = self.events("Runtime.consoleAPICalled").into_iter();
        let thrown = self.events("Runtime.exceptionThrown").into_iter();
        let logged = self.events("Log.entryAdded").into_iter().filter(|event| {
            let entry = &event.about["entry"];
            !(entry["source"] == "network" && entry["url"] == self.url().as_str())
        });
        written.chain(thrown).chain(logged).map(|event| event.about.to_string()).collect()
    }

    /// Returns the URLs of all requests.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = self.events("Network.requestWillBeSent");
        asked.iter().map(|event| event.about["request"]["url"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the number of responses and their bytes on the wire, once the network is idle.
    pub(crate) fn weight(&self) -> (usize, u64) {
        let responses = || self.events("Network.loadingFinished");
        until("the network is idle", WAIT_TIMEOUT, || {
            responses().len() >= self.asked().iter().filter(|url| !url.contains("/live?")).count()
        });
        let finished = responses();
        let bytes = |event: &Event| event.about["encodedDataLength"].as_f64().unwrap() as u64;
        (finished.len(), finished.iter().map(bytes).sum())
    }

    /// Writes a screenshot of the whole page.
    pub(crate) fn picture(&self, name: &str) {
        let asked = json!({"format": "png", "captureBeyondViewport": true, "optimizeForSpeed": true});
        let picture = self.call("Page.captureScreenshot", &asked);
        let picture = STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        write(&format!("{name}.png"), &picture);
    }
}

/// Writes a file for people to look at.
pub(crate) fn write(name: &str, content: &[u8]) {
    let folder = PathBuf::from(TARGET).join("screenshots");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), content).unwrap();
}

/// Where `cargo xtask test --install` puts axe, the accessibility checker.
const AXE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/axe-core/node_modules/axe-core/axe.min.js");
/// Returns the violations as lines, and the number of rules that passed. Computed on the page, so that the elements of
/// passing rules are not transferred.
const EXAMINE: &str = "axe.run(document, {resultTypes: ['violations']}).then(({violations, passes}) => [
    violations.map(one => `${one.id} (${one.impact}): ${one.nodes.map(node => node.target).join(', ')}`),
    passes.length])";

/// The rules of axe that were violated.
pub(crate) struct Axe(Vec<String>);

impl Axe {
    /// Loads axe into every document that the page opens from now on.
    pub(crate) fn on(page: &Page) -> Self {
        let source = fs::read_to_string(AXE).expect("axe is missing: cargo xtask test --install brings it");
        page.call("Page.addScriptToEvaluateOnNewDocument", &json!({"source": source}));
        Self(Vec::new())
    }

    /// Examines the current document.
    pub(crate) fn examine(&mut self, page: &Page, path: &str, screen: &str) {
        let found = page.evaluate(EXAMINE);
        // An axe that ran no rule would report no violation either.
        assert!(found[1].as_u64().unwrap() > 0, "no rule passes on {path}");
        let line = |one: &Value| format!("{path} on {screen}: {}", one.as_str().unwrap());
        self.0.extend(found[0].as_array().unwrap().iter().map(line));
    }

    /// Fails if a rule is violated.
    pub(crate) fn finish(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}
