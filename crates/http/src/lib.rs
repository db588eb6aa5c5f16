//! Companion over HTTP: the five public endpoints and the management API, on actix-web.
