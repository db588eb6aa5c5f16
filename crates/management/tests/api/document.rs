//! The OpenAPI document: up to date, complete and correct; and its reference page.

use crate::{
    answers::{every_management_answer, every_public_answer},
    put,
    service::{Answer, Service},
};
use actix_web::{http::Method, test::TestRequest};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jsonschema::Validator;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex},
};

/// Resolves a reference; returns anything else as it is.
fn resolved(part: &'static Value) -> &'static Value {
    match part["$ref"].as_str() {
        Some(reference) => DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap(),
        None => part,
    }
}

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::to_value(companion_management::openapi()).unwrap());

/// Returns method, path and description of every operation.
pub(crate) fn operations() -> impl Iterator<Item = (&'static str, &'static str, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, item)| {
        operations_of(item).map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
    })
}

/// Returns the scope of the management key that an operation needs, if it needs one.
pub(crate) fn scope_of(operation: &Value) -> Option<&str> {
    operation["security"][0]["ManagementKey"][0].as_str()
}

#[test]
fn the_committed_document_is_up_to_date() {
    let kept = include_str!("../../../../docs/openapi.json");
    let made = companion_management::openapi().to_pretty_json().unwrap() + "\n";
    assert!(
        kept == made,
        "docs/openapi.json is out of date; regenerate it: cargo run -- openapi > docs/openapi.json"
    );
}

/// Whether a path of the document is on the management listener.
fn is_management(operations: &Value) -> bool {
    let tags = operations.as_object().unwrap().values().filter_map(|operation| operation["tags"].as_array());
    let managed: Vec<_> = tags.map(|tags| tags.contains(&json!("management"))).collect();
    assert!(managed.iter().all(|one| *one == managed[0]), "a path is on one listener");
    assert_eq!(operations["servers"].is_array(), managed[0]);
    managed[0]
}

/// Returns the operations of a path, by method.
fn operations_of(path: &Value) -> impl Iterator<Item = (&String, &Value)> {
    path.as_object().unwrap().iter().filter(|(key, _)| *key != "servers")
}

async fn answered_by(service: &Service, managed: bool, request: TestRequest) -> Answer {
    if managed { service.manage(request).await } else { service.call(request).await }
}

#[actix_web::test]
async fn the_document_covers_every_route_and_allow_every_method() {
    let service = Service::new().await;
    service.manage(put("/bot/settings", &json!({"sections": []}))).await;
    let mut described = 0;
    for (path, operations) in DOCUMENT["paths"].as_object().unwrap() {
        let documented: BTreeSet<_> =
            operations_of(operations).map(|(method, _)| method.to_uppercase()).collect();
        let mut allow = Vec::new();
        for method in
            ["GET", "POST", "PUT", "PATCH", "DELETE"].into_iter().filter(|it| documented.contains(*it))
        {
            allow.extend(if method == "GET" { &["GET", "HEAD"][..] } else { std::slice::from_ref(&method) });
        }
        let allow = [&allow[..], &["OPTIONS"]].concat().join(", ");
        let managed = is_management(operations);
        // An invalid id, which is rejected before any look-up.
        let concrete = path.replace(['{', '}'], "~");
        let mut answered = BTreeSet::new();
        // The stream has no end, but its refusal has.
        let concrete = if path == "/bot/changes" { format!("{path}?since=~") } else { concrete };
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "QUERY"] {
            let request = TestRequest::default().method(method.parse().unwrap()).uri(&concrete);
            let answer = answered_by(&service, managed, request).await;
            assert_ne!(answer.status, 404, "{path} is documented but does not exist");
            if answer.status == 405 {
                answer.assert_error(405, "method_not_allowed");
                assert_valid(&DOCUMENT["components"]["responses"]["MethodNotAllowed"], &answer);
                assert_eq!(answer.header("allow"), allow, "{method} {path}");
            } else {
                answered.insert(method.to_owned());
            }
        }
        assert_eq!(documented, answered, "{path}");
        let of = |method: Method| {
            answered_by(&service, managed, TestRequest::default().method(method).uri(&concrete))
        };
        let options = of(Method::OPTIONS).await;
        assert_eq!((options.status, options.header("allow"), options.body.len()), (204, &*allow, 0));
        if documented.contains("GET") {
            let (get, head) = (of(Method::GET).await, of(Method::HEAD).await);
            assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        }
        described += 1;
    }
    assert_eq!(described, 5 + 29);
    assert_valid(&DOCUMENT["components"]["responses"]["NotFound"], &service.get("/nothing").await);
}

#[actix_web::test]
async fn responses_match_their_schemas() {
    let mut seen = BTreeSet::new();
    for (method, path, answer) in
        every_public_answer().await.into_iter().chain(every_management_answer().await)
    {
        let response = &DOCUMENT["paths"][path][method]["responses"][answer.status.to_string()];
        let response = resolved(response);
        assert!(response.is_object(), "{method} {path} answered {}, which is not documented", answer.status);
        assert_valid(response, &answer);
        let word = if answer.status < 400 { Value::Null } else { answer.json()["data"]["error"].clone() };
        seen.insert((method, path, answer.status, word.as_str().unwrap_or_default().to_owned()));
    }
    let unseen = unseen(&seen);
    let unexpected: Vec<_> = unseen.iter().filter(|answer| !is_rare(answer)).collect();
    assert!(unexpected.is_empty(), "documented, but not observed: {unexpected:#?}");
}

/// A kind of response: method, path, status and error word.
type Kind = (&'static str, &'static str, u16, String);

/// Returns what is documented but was not observed.
fn unseen(seen: &BTreeSet<Kind>) -> BTreeSet<Kind> {
    let mut unseen = BTreeSet::new();
    for (method, path, operation) in operations() {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let status: u16 = status.parse().unwrap();
            let examples = resolved(response)["content"]["application/json"]["examples"].as_object();
            let words = examples.map_or(vec![""], |words| words.keys().map(String::as_str).collect());
            let kinds = words.into_iter().map(|word| (method, path, status, word.to_owned()));
            unseen.extend(kinds.filter(|kind| !seen.contains(kind)));
        }
    }
    unseen
}

/// Kinds that cannot be observed here: bodies that only a socket can break or delay, and failures of infallible
/// operations.
fn is_rare((_, path, status, word): &Kind) -> bool {
    let from_memory =
        ["/", "/team", "/health/live", "/health/ready", "/metrics", "/bot/changes", "/openapi.json", "/docs"];
    match (*status, word.as_str()) {
        (400, "body_invalid") | (408, "body_timeout") => *path != "/bot/sync",
        (500, "internal") if from_memory.contains(path) => true,
        // The endless stream has its own tests.
        (200, "") => *path == "/bot/changes",
        // Needs thousands of waiting requests.
        (503, "overloaded") => *path != "/auth",
        _ => false,
    }
}

/// Validates the body and every documented header.
fn assert_valid(response: &'static Value, answer: &Answer) {
    match response["content"].as_object().and_then(|content| content.iter().next()) {
        None => assert_eq!(answer.body, b""),
        Some((media_type, content)) => {
            assert_eq!(answer.header("content-type"), media_type);
            let body = if media_type == "application/json" {
                serde_json::from_slice(&answer.body).unwrap()
            } else {
                json!(String::from_utf8(answer.body.clone()).unwrap())
            };
            validate(&content["schema"], &body);
        }
    }
    let headers = response["headers"].as_object().unwrap();
    assert!(headers.contains_key("X-Request-Id"));
    for (name, header) in headers {
        let header = resolved(header);
        let text = answer.header(name);
        // Of the errors with one code, some have no `Retry-After`.
        if (name.as_str(), text) == ("Retry-After", "") {
            assert_eq!(answer.json()["data"]["error"], "sign_in_not_configured");
            continue;
        }
        let number = text.parse::<u64>().ok().filter(|_| header["schema"]["type"] == "integer");
        validate(&header["schema"], &number.map_or(json!(text), |number| json!(number)));
    }
}

/// Returns a validator for a schema of the document, built once because that is slow.
fn validator(schema: &Value) -> Arc<Validator> {
    static BUILT: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let mut built = BUILT.lock().unwrap();
    let build = || {
        let mut root = schema.clone();
        root["components"] = DOCUMENT["components"].clone();
        Arc::new(jsonschema::options().should_validate_formats(true).build(&root).unwrap())
    };
    Arc::clone(built.entry(schema.to_string()).or_insert_with(build))
}

fn validate(schema: &Value, value: &Value) {
    let validator = validator(schema);
    let errors: Vec<_> =
        validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\nin {value:#}");
}

#[test]
fn the_document_matches_the_contract() {
    assert_eq!(DOCUMENT["openapi"], "3.1.0");
    let schemas = &DOCUMENT["components"]["schemas"];
    assert_eq!(schemas["Guild"]["properties"]["service"]["deprecated"], true);
    assert_eq!(schemas["Permissions"]["required"].as_array().map(Vec::len), Some(20));
    let scheme = |name: &str| DOCUMENT["components"]["securitySchemes"][name]["name"].clone();
    assert_eq!((scheme("Token"), scheme("IdpCode")), (json!("Token"), json!("Idp-Code")));
    assert_eq!(DOCUMENT["paths"]["/guilds"]["get"]["security"], json!([{"Token": []}]));
    assert_eq!(DOCUMENT["paths"]["/auth"]["post"]["security"], json!([{"IdpCode": []}]));
    assert_eq!(DOCUMENT["components"]["securitySchemes"]["ManagementKey"]["scheme"], "bearer");
    for (_, path, operation) in operations() {
        let open = !is_management(&DOCUMENT["paths"][path])
            || path.starts_with("/health/")
            || path == "/docs"
            || path == "/openapi.json";
        assert_eq!(scope_of(operation).is_none(), open, "{path}");
    }
    for (name, schema) in schemas.as_object().unwrap() {
        let Some(properties) = schema["properties"].as_object() else {
            continue;
        };
        assert_eq!(schema["additionalProperties"], false, "{name}");
        let required: BTreeSet<_> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        // Bodies of requests may leave something out.
        if !matches!(
            name.as_str(),
            "ClusterReport"
                | "FieldRecord"
                | "ManyRecord"
                | "NoticeRecord"
                | "SectionRecord"
                | "SettingsConfirmation"
                | "SettingsPatch"
        ) {
            assert_eq!(required, properties.keys().map(String::as_str).collect(), "{name}");
        }
    }
}

#[test]
fn document_limits_match_the_domain() {
    // Those of records are made of the domain's.
    use companion_domain::model::{MemberCount, Name, Prose, Slots, SubscribedGuilds, WebUrl};
    let schemas = &DOCUMENT["components"]["schemas"];
    for (shape, field, limit, expected) in [
        ("Guild", "name", "maxLength", *Name::LENGTH.end()),
        ("Guild", "members", "maximum", MemberCount::MAX as usize),
        ("User", "username", "maxLength", *Name::LENGTH.end()),
        ("User", "avatar", "maxLength", WebUrl::MAX_LENGTH),
        ("TeamMember", "role", "maxLength", *Name::LENGTH.end()),
        ("FeedbackEntry", "feedback", "maxLength", *Prose::LENGTH.end()),
        ("PlusRecord", "guilds", "maxItems", SubscribedGuilds::MAX),
        ("PlusRecord", "slots", "maximum", Slots::MAX as usize),
    ] {
        assert_eq!(schemas[shape]["properties"][field][limit], json!(expected), "{shape}.{field}");
    }
    // Every URL that the domain accepts may be returned, even if a strict parser rejects it.
    let accepted = ["https://cdn.example/a.png", "HTTPS://[::1]/%20?a=b#c", "http://a/[]{}|\\^`\"<>%"];
    for (shape, field) in
        [("Guild", "icon"), ("User", "avatar"), ("TeamMember", "avatar"), ("GuildRecord", "icon")]
    {
        for address in accepted {
            assert!(address.parse::<WebUrl>().is_ok());
            validate(&schemas[shape]["properties"][field], &json!(address));
        }
    }
}

#[test]
fn body_examples_are_valid() {
    let mut bodies = 0;
    for (method, path, operation) in operations() {
        let contents = operation["requestBody"]["content"].as_object();
        for content in contents.into_iter().flat_map(serde_json::Map::values) {
            assert!(!content["example"].is_null(), "{method} {path}");
            validate(&content["schema"], &content["example"]);
            bodies += 1;
        }
    }
    assert_eq!(bodies, 13);
}

#[test]
fn the_api_docs_list_every_error() {
    let page =
        [include_str!("../../../../docs/api.md"), include_str!("../../../../docs/management.md")].concat();
    let of_operations = operations().flat_map(|(.., operation)| operation["responses"].as_object().unwrap());
    let shared = DOCUMENT["components"]["responses"].as_object().unwrap();
    for (_, response) in of_operations.chain(shared) {
        let examples = resolved(response)["content"]["application/json"]["examples"].as_object();
        for word in examples.into_iter().flat_map(serde_json::Map::keys) {
            assert!(page.contains(&format!("`{word}`")), "the pages do not mention {word}");
        }
    }
}

async fn get(path: &str) -> Answer {
    Service::new().await.call_management(TestRequest::get().uri(path)).await
}

#[actix_web::test]
async fn serves_the_document() {
    let answer = get("/openapi.json").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.body, companion_management::openapi().to_json().unwrap().into_bytes());
}

#[actix_web::test]
async fn the_page_policy_allows_only_its_own_content() {
    let answer = get("/docs").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/html; charset=utf-8"));
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    let page = std::str::from_utf8(&answer.body).unwrap();
    let policy = answer.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
    for (directive, tag) in [("script-src", "script"), ("style-src", "style")] {
        let (begin, end) = (format!("<{tag}>"), format!("</{tag}>"));
        assert_eq!(page.matches(&begin).count(), 1, "{tag}");
        let text = page.split_once(&begin).unwrap().1.split_once(&end).unwrap().0;
        assert!(text.len() > 100, "{tag}");
        let hash = STANDARD.encode(Sha256::digest(text));
        assert!(policy.contains(&format!("{directive} 'sha256-{hash}'")), "{policy}");
    }
    for elsewhere in ["http://", "https://", " src=", "@import", "url(", " style=", " onclick="] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    assert!(page.contains("fetch(\"/openapi.json\")"));
}

#[actix_web::test]
async fn the_document_suffices_for_curl_commands() {
    let page = String::from_utf8(get("/docs").await.body).unwrap();
    assert!(page.contains("\"curl\""));
    for (_, path, operation) in operations() {
        let parameters = operation["parameters"].as_array().unwrap();
        for name in path.split(['{', '}']).skip(1).step_by(2) {
            assert!(parameters.iter().any(|parameter| parameter["name"] == name), "{path}: {name}");
        }
    }
    assert!(page.contains("scrollIntoView") && page.contains("role=\"search\""));
}
