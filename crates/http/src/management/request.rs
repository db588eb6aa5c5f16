//! Reading requests of the management API.

use super::Shared;
use crate::{
    body::{UnusedBody, announced},
    error::ApiError,
    input::{Fields, Key, Node, Notes, Path},
};
use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use companion_domain::model::{Invalid, Mistake};
use futures_util::{FutureExt as _, StreamExt as _, future::LocalBoxFuture};
use serde_json::Value;
use std::str::FromStr;

/// A JSON body, whatever its `Content-Type` says; or why it is none.
pub(super) struct JsonBody(Result<Value, serde_json::Error>);

impl FromRequest for JsonBody {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let limit = body_limit(request);
        let announced =
            announced(request.headers()).map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let mut payload = payload.take();
        async move {
            if announced.is_some_and(|length| length > limit) {
                return Err(ApiError::BodyTooLarge);
            }
            let mut body = Vec::with_capacity(announced.unwrap_or_default());
            while let Some(chunk) = payload.next().await {
                body.extend_from_slice(&chunk.map_err(|_| ApiError::BodyBroken)?);
                if body.len() > limit {
                    return Err(ApiError::BodyTooLarge);
                }
            }
            Ok(Self(serde_json::from_slice(&body)))
        }
        .boxed_local()
    }
}

/// The body of a request that needs none: read up to the limit and thrown away.
pub(super) struct NoBody;

impl FromRequest for NoBody {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let limit = body_limit(request);
        let unused = UnusedBody::of(request, payload);
        async move { unused.ignore(limit).await.map(|()| Self) }.boxed_local()
    }
}

/// What the largest document that a path takes needs, in bytes. A path has it where that can be more than the usual limit:
/// whatever the description of the API allows must not be refused for its size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room(pub(super) usize);

fn body_limit(request: &HttpRequest) -> usize {
    let usual = request.app_data::<web::Data<Shared>>().map_or(0, |shared| shared.body_limit);
    request.app_data::<Room>().map_or(usual, |room| usual.max(room.0))
}

/// What a request says in its path and its body, read as a whole: each mistake is noted, and all are told at once.
pub(super) struct Input<'r> {
    request: &'r HttpRequest,
    body: &'r JsonBody,
    notes: Notes,
}

impl<'r> Input<'r> {
    pub(super) fn of(request: &'r HttpRequest, body: &'r JsonBody) -> Self {
        Self { request, body, notes: Notes::default() }
    }

    /// The key of a record, which is a part of the path.
    pub(super) fn key<T: FromStr<Err = Invalid>>(&mut self, name: &'static str) -> Key<T> {
        part(self.request, name, &mut self.notes).map_or(Key::Unreadable, Key::Known)
    }

    /// Reads the body as an object, and refuses fields that `make` did not ask for.
    pub(super) fn object<T>(
        self,
        make: impl FnOnce(&mut Fields<'_, '_>, &mut Notes) -> Option<T>,
    ) -> Result<T, ApiError> {
        self.node(|node, notes| {
            let mut fields = node.fields(notes)?;
            let made = make(&mut fields, notes);
            fields.finish(notes);
            made
        })
    }

    /// Reads a body of any form.
    pub(super) fn node<T>(
        mut self,
        make: impl FnOnce(Node<'_, '_>, &mut Notes) -> Option<T>,
    ) -> Result<T, ApiError> {
        let made = match &self.body.0 {
            Ok(value) => make(Node::root(value), &mut self.notes),
            Err(error) => {
                self.notes.add(&Path::Root, format!("is not JSON: {error}"));
                None
            }
        };
        self.notes.unless_any(made).map_err(ApiError::InputInvalid)
    }
}

/// A part of the path.
pub(super) fn segment<T: FromStr<Err = Invalid>>(
    request: &HttpRequest,
    name: &'static str,
) -> Result<T, ApiError> {
    value(name, request.match_info().query(name))
}

/// Two parts of the path.
pub(super) fn segments<A, B>(
    request: &HttpRequest,
    first: &'static str,
    second: &'static str,
) -> Result<(A, B), ApiError>
where
    A: FromStr<Err = Invalid>,
    B: FromStr<Err = Invalid>,
{
    let mut notes = Notes::default();
    let (first, second) = (part(request, first, &mut notes), part(request, second, &mut notes));
    notes.unless_any(first.zip(second)).map_err(ApiError::InputInvalid)
}

fn part<T: FromStr<Err = Invalid>>(
    request: &HttpRequest,
    name: &'static str,
    notes: &mut Notes,
) -> Option<T> {
    let parsed = request.match_info().query(name).parse();
    let refused = |invalid: Invalid| {
        notes.add(&Path::Field(&Path::Root, name), format!("must be {}", invalid.expected));
    };
    parsed.map_err(refused).ok()
}

/// A named piece of text outside the body.
pub(super) fn value<T: FromStr<Err = Invalid>>(name: &str, text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|invalid: Invalid| invalid_value(name, &format!("must be {}", invalid.expected)))
}

/// Refuses a named piece of text outside the body.
pub(super) fn invalid_value(name: &str, message: &str) -> ApiError {
    ApiError::InputInvalid(vec![Mistake { path: name.to_owned(), message: message.to_owned() }])
}
