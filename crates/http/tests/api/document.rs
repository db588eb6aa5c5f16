//! The OpenAPI document: up to date, complete, and true.

use crate::{answer::Answer, every_answer::every_answer, service::Service};
use actix_web::{http::Method, test::TestRequest};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn document() -> Value {
    serde_json::to_value(companion_http::openapi()).unwrap()
}

#[test]
fn the_document_in_the_repository_is_the_one_that_the_code_makes() {
    let kept = include_str!("../../../../docs/openapi.json");
    let made = companion_http::openapi().to_pretty_json().unwrap() + "\n";
    assert!(
        kept == made,
        "docs/openapi.json is out of date; write it anew: cargo run -- openapi > docs/openapi.json"
    );
}

#[actix_web::test]
async fn the_document_describes_exactly_what_is_answered() {
    let service = Service::new().await;
    let document = document();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let documented: BTreeSet<_> =
            operations.as_object().unwrap().keys().map(|key| key.to_uppercase()).collect();
        let mut answered = BTreeSet::new();
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "QUERY"] {
            let request = TestRequest::default().method(method.parse().unwrap()).uri(path);
            let status = service.call(request).await.status;
            assert_ne!(status, 404, "{path} is documented but does not exist");
            if status != 405 {
                answered.insert(method.to_owned());
            }
        }
        assert_eq!(documented, answered, "{path}");
    }
}

#[actix_web::test]
async fn every_kind_of_answer_is_as_the_document_says() {
    let document = document();
    let mut seen = BTreeSet::new();
    for (method, path, answer) in every_answer().await {
        let response = &document["paths"][path][method]["responses"][answer.status.to_string()];
        assert!(response.is_object(), "{method} {path} answered {}, which is not documented", answer.status);
        assert_valid(&document, response, &answer);
        let word = if answer.status < 400 { Value::Null } else { answer.json()["data"]["error"].clone() };
        seen.insert((path, answer.status, word.as_str().unwrap_or_default().to_owned()));
    }
    assert_eq!(unseen(&document, &seen), not_yet_shown(), "documented, but not shown by this test");
}

#[actix_web::test]
async fn answers_elsewhere_are_as_the_document_says() {
    let document = document();
    let service = Service::new().await;
    assert_valid(&document, &document["components"]["responses"]["NotFound"], &service.get("/nothing").await);
    for path in ["/", "/auth", "/team"] {
        let refused = service.call(TestRequest::default().method(Method::PUT).uri(path)).await;
        assert_valid(&document, &document["components"]["responses"]["MethodNotAllowed"], &refused);
    }
}

/// What is documented but was not answered.
fn unseen(document: &Value, seen: &BTreeSet<(&str, u16, String)>) -> BTreeSet<(String, u16, String)> {
    let mut unseen = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let status: u16 = status.parse().unwrap();
                let examples = response["content"]["application/json"]["examples"].as_object();
                let words = examples.map_or(vec![""], |words| words.keys().map(String::as_str).collect());
                let new =
                    words.into_iter().filter(|word| !seen.contains(&(path, status, (*word).to_owned())));
                unseen.extend(new.map(|word| (path.clone(), status, word.to_owned())));
            }
        }
    }
    unseen
}

/// What cannot be shown here: limits that are not drawn yet, bodies that only a socket can break, and panics where
/// nothing can panic.
fn not_yet_shown() -> BTreeSet<(String, u16, String)> {
    let mut rare = BTreeSet::from([("/auth".to_owned(), 429, "rate_limited".to_owned())]);
    for path in ["/", "/auth", "/guilds", "/feedback", "/team"] {
        rare.insert((path.to_owned(), 503, "overloaded".to_owned()));
    }
    for path in ["/", "/feedback", "/team"] {
        rare.insert((path.to_owned(), 400, "header_invalid".to_owned()));
    }
    for path in ["/", "/team"] {
        rare.insert((path.to_owned(), 500, "internal".to_owned()));
    }
    rare
}

/// Compares the body and every documented header with their schemas.
fn assert_valid(document: &Value, response: &Value, answer: &Answer) {
    let schema = &response["content"]["application/json"]["schema"];
    if schema.is_null() {
        assert_eq!(answer.body, b"");
    } else {
        validate(document, schema, &answer.json());
    }
    let headers = response["headers"].as_object().unwrap();
    assert!(headers.contains_key("X-Request-Id"));
    for (name, header) in headers {
        let header = match header["$ref"].as_str() {
            Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
            None => header,
        };
        let text = answer.header(name);
        let number = text.parse::<u64>().ok().filter(|_| header["schema"]["type"] == "integer");
        validate(document, &header["schema"], &number.map_or(json!(text), |number| json!(number)));
    }
}

fn validate(document: &Value, schema: &Value, value: &Value) {
    let mut root = schema.clone();
    root["components"] = document["components"].clone();
    let validator = jsonschema::options().should_validate_formats(true).build(&root).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\nin {value:#}");
}

#[test]
fn the_document_says_what_the_contract_says() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Guild"]["properties"]["service"]["deprecated"], true);
    assert_eq!(schemas["Permissions"]["required"].as_array().map(Vec::len), Some(20));
    let scheme = |name: &str| document["components"]["securitySchemes"][name]["name"].clone();
    assert_eq!((scheme("Token"), scheme("IdpCode")), (json!("Token"), json!("Idp-Code")));
    assert_eq!(document["paths"]["/guilds"]["get"]["security"], json!([{"Token": []}]));
    assert_eq!(document["paths"]["/auth"]["post"]["security"], json!([{"IdpCode": []}]));
    for (name, schema) in schemas.as_object().unwrap() {
        let Some(properties) = schema["properties"].as_object() else {
            continue;
        };
        assert_eq!(schema["additionalProperties"], false, "{name}");
        let required: BTreeSet<_> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(required, properties.keys().map(String::as_str).collect(), "{name}");
    }
}

#[test]
fn the_page_about_the_api_has_every_error() {
    let page = include_str!("../../../../docs/api.md");
    for response in responses(&document()) {
        let examples = response["content"]["application/json"]["examples"].as_object();
        for word in examples.into_iter().flat_map(serde_json::Map::keys) {
            assert!(page.contains(&format!("`{word}`")), "docs/api.md says nothing about {word}");
        }
    }
}

fn responses(document: &Value) -> Vec<Value> {
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let described = operations.flat_map(|operation| operation["responses"].as_object().unwrap().values());
    described.chain(document["components"]["responses"].as_object().unwrap().values()).cloned().collect()
}
