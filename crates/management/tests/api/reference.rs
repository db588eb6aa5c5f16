//! `GET /openapi.json` and `GET /docs`.

use crate::{answer::Answer, service::Service};
use actix_web::test::TestRequest;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

async fn get(path: &str) -> Answer {
    Service::new().await.call_management(TestRequest::get().uri(path)).await
}

#[actix_web::test]
async fn the_document_is_served_as_it_is_made() {
    let answer = get("/openapi.json").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.body, companion_management::openapi().to_json().unwrap().into_bytes());
}

#[actix_web::test]
async fn the_page_runs_only_what_is_in_it_and_loads_only_the_document() {
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
async fn the_page_breaks_no_word_and_turns_tables_into_blocks_where_there_is_no_room() {
    let page = String::from_utf8(get("/docs").await.body).unwrap();
    for broken in ["overflow-wrap", "word-break", "break-all"] {
        assert!(!page.contains(broken), "{broken}");
    }
    assert!(page.contains("width=device-width") && page.contains("table, tbody, tr, td { display: block; }"));
}

#[actix_web::test]
async fn the_page_has_what_a_line_for_a_shell_is_made_of() {
    let page = String::from_utf8(get("/docs").await.body).unwrap();
    assert!(page.contains("\"curl\""));
    let document = serde_json::to_value(companion_management::openapi()).unwrap();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values().filter(|value| value.is_object()) {
            let parameters = operation["parameters"].as_array().unwrap();
            for name in path.split(['{', '}']).skip(1).step_by(2) {
                assert!(parameters.iter().any(|parameter| parameter["name"] == name), "{path}: {name}");
            }
        }
    }
    assert!(page.contains("scrollIntoView") && page.contains("role=\"search\""));
}
