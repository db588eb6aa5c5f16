//! The body of an answer to HEAD: only its length.

use actix_web::{
    HttpResponse,
    body::{BodySize, BoxBody, MessageBody},
    web::Bytes,
};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

/// Says how long the body would be, and gives none.
struct LengthOnly(u64);

impl MessageBody for LengthOnly {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.0)
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        Poll::Ready(None)
    }
}

/// Takes the body off, but leaves its length.
pub(super) fn without_body(response: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
    response.map_body(|_, body| match body.size() {
        BodySize::Sized(length) => BoxBody::new(LengthOnly(length)),
        BodySize::None | BodySize::Stream => BoxBody::new(()),
    })
}
