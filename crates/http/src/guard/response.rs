//! Wraps the application, so that each connection knows which request is being answered.

use super::{framing::Body, stream::Connection};
use actix_http::{ConnectionType, Request, Response};
use actix_service::{Service as _, ServiceFactory, apply_fn_factory};
use actix_web::{
    HttpResponse,
    body::{BodySize, BoxBody, MessageBody},
    dev::ServiceResponse,
    web::Bytes,
};
use futures_util::pending;
use std::{
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

/// Bytes of a response that the server gets at once. It copies them into the connection's buffer, where this many fit
/// behind the head without growing it.
const SLICE_SIZE: usize = 7 * 1024;

/// Wraps an application. Announces each request to its connection, and the end of each response.
pub(crate) fn track_responses<S>(
    app: S,
) -> impl ServiceFactory<
    Request,
    Config = S::Config,
    Response = Response<ResponseBody>,
    Error = HttpResponse<BoxBody>,
    InitError = S::InitError,
>
where
    S: ServiceFactory<Request, Response = ServiceResponse<BoxBody>, Error = HttpResponse<BoxBody>>,
{
    apply_fn_factory(app, |request: Request, app: &S::Service| {
        let connection = request.conn_data::<Rc<Connection>>().cloned();
        if let Some(connection) = &connection {
            connection.begin(Body::of(request.head()));
        }
        let response = app.call(request);
        async move {
            while connection.as_ref().is_some_and(|connection| connection.has_unread_body()) {
                pending!();
            }
            let response = response.await.map_or_else(Response::from, Response::from);
            Ok(ResponseBody::of(response, connection))
        }
    })
}

/// A response body, given to the server in slices that share its bytes.
pub(crate) struct ResponseBody {
    body: BoxBody,
    /// The rest of the last chunk of the body.
    rest: Bytes,
    connection: Option<Rc<Connection>>,
}

impl ResponseBody {
    fn of(mut response: Response<BoxBody>, connection: Option<Rc<Connection>>) -> Response<Self> {
        let is_stream = response.body().size() == BodySize::Stream;
        if connection.as_ref().is_some_and(|connection| connection.is_last_response(is_stream)) {
            response.head_mut().set_connection_type(ConnectionType::Close);
        }
        response.map_body(|_, body| Self { body, rest: Bytes::new(), connection })
    }
}

impl MessageBody for ResponseBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_next(context)) {
                Some(Ok(bytes)) => self.rest = bytes,
                ended => return Poll::Ready(ended),
            }
        }
        let length = self.rest.len().min(SLICE_SIZE);
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }
}

/// The server drops a body once it has buffered all of it.
impl Drop for ResponseBody {
    fn drop(&mut self) {
        if let Some(connection) = &self.connection {
            connection.answered();
        }
    }
}
