//! Routes: a table of paths, matched segment by segment, with exact methods.
//!
//! actix-web matches a path with parameters by a regular expression for each route, which was a sixth of the work of a
//! small change.

use crate::error::ApiError;
use actix_web::{
    Error, FromRequest, Handler, HttpRequest, HttpResponse, Responder, Route,
    body::BoxBody,
    dev::{Extensions, Service, ServiceFactory, ServiceRequest, ServiceResponse, always_ready},
    http::{Method, header},
    web,
};
use futures_util::{
    FutureExt as _, TryFutureExt as _,
    future::{LocalBoxFuture, ready, try_join_all},
};
use std::rc::Rc;

/// The matched route pattern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Routed(pub(crate) &'static str);

/// Decides whether a request may use a resource.
type Access = Rc<dyn Fn(&HttpRequest) -> Result<(), ApiError>>;

/// A path and its handlers. It answers other methods with 405.
pub struct Resource {
    path: &'static str,
    data: Extensions,
    access: Option<Access>,
    methods: Vec<Method>,
    /// The handler of each method.
    routes: Vec<Route>,
}

/// Returns a resource that answers only OPTIONS. A segment of the path in braces is a [`parameter`], which is not empty.
pub fn resource(path: &'static str) -> Resource {
    let mut data = Extensions::new();
    data.insert(Routed(path));
    Resource { path, data, access: None, methods: Vec::new(), routes: Vec::new() }
}

/// Returns a resource that is only read.
pub fn reading<F, Args>(path: &'static str, handler: F) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    resource(path).on(Method::GET, handler)
}

impl Resource {
    /// Adds the handler of a method. That of GET answers HEAD too; the edge removes the body.
    #[must_use]
    pub fn on<F, Args>(mut self, method: Method, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.methods.push(method);
        self.routes.push(web::to(handler));
        self
    }

    /// Adds application data for its handlers.
    #[must_use]
    pub fn app_data<T: 'static>(mut self, data: T) -> Self {
        self.data.insert(data);
        self
    }

    /// Requires this check of every request, whatever its method.
    #[must_use]
    pub fn guarded(self, access: impl Fn(&HttpRequest) -> Result<(), ApiError> + 'static) -> Self {
        Self { access: Some(Rc::new(access)), ..self }
    }
}

/// Returns the segment of the request's path that its route calls `{name}`, or an empty text if there is none.
#[must_use]
pub fn parameter<'a>(request: &'a HttpRequest, name: &str) -> &'a str {
    let pattern = request.app_data::<Routed>().map_or("", |routed| routed.0);
    let place = segments(pattern).position(|known| parameter_name(known) == Some(name.as_bytes()));
    let sent = place.and_then(|place| segments(request.match_info().as_str()).nth(place));
    sent.and_then(|sent| str::from_utf8(sent).ok()).unwrap_or_default()
}

/// Splits a path into segments. Faster than `str::split`, whose search is made for long text.
fn segments(path: &str) -> impl Iterator<Item = &[u8]> {
    path.as_bytes().split(|byte| *byte == b'/')
}

/// Returns the name of a parameter, or `None` for a segment that stands for itself.
fn parameter_name(segment: &[u8]) -> Option<&[u8]> {
    segment.strip_prefix(b"{")?.strip_suffix(b"}")
}

/// All resources of an application, as its default service. If two match a path, the first one wins; an unknown path is
/// 404.
pub(crate) struct Router(Vec<(Rc<Matched>, Vec<Route>)>);

/// A resource, without its handlers.
struct Matched {
    segments: Vec<&'static [u8]>,
    methods: Vec<Method>,
    /// The value of `Allow`.
    allow: String,
    data: Rc<Extensions>,
    access: Option<Access>,
}

impl Matched {
    fn matches(&self, path: &[&[u8]]) -> bool {
        let matches = |known: &[u8], sent: &[u8]| match parameter_name(known) {
            Some(_) => !sent.is_empty(),
            None => known == sent,
        };
        self.segments.len() == path.len()
            && self.segments.iter().zip(path).all(|(known, sent)| matches(known, sent))
    }
}

impl Router {
    pub(crate) fn new(resources: impl IntoIterator<Item = Resource>) -> Self {
        let matched = |Resource { path, data, access, mut methods, mut routes }| {
            let segments = segments(path).collect();
            methods.push(Method::OPTIONS);
            let allow: Vec<_> = methods.iter().map(Method::as_str).collect();
            let allow = allow.join(", ").replace("GET", "GET, HEAD");
            let all = allow.clone();
            routes.push(web::to(move || {
                ready(HttpResponse::NoContent().insert_header((header::ALLOW, all.as_str())).finish())
            }));
            (Rc::new(Matched { segments, methods, allow, data: Rc::new(data), access }), routes)
        };
        Self(resources.into_iter().map(matched).collect())
    }
}

impl ServiceFactory<ServiceRequest> for Router {
    type Response = ServiceResponse;
    type Error = Error;
    type Config = ();
    type Service = RouterService;
    type InitError = ();
    type Future = LocalBoxFuture<'static, Result<RouterService, ()>>;

    fn new_service(&self, (): ()) -> Self::Future {
        let resources = self.0.iter().map(|(matched, routes)| {
            let matched = Rc::clone(matched);
            try_join_all(routes.iter().map(|route| route.new_service(()))).map_ok(|routes| (matched, routes))
        });
        try_join_all(resources).map_ok(RouterService).boxed_local()
    }
}

/// The resources of one worker.
pub(crate) struct RouterService(Vec<(Rc<Matched>, Vec<HandlerService>)>);

type HandlerService = <Route as ServiceFactory<ServiceRequest>>::Service;

impl RouterService {
    /// Returns the handler of a request.
    fn handler(&self, request: &mut ServiceRequest) -> Result<&HandlerService, ApiError> {
        let path: Vec<_> = segments(request.match_info().as_str()).collect();
        let found = self.0.iter().find(|(resource, _)| resource.matches(&path));
        let (resource, routes) = found.ok_or(ApiError::NotFound)?;
        request.add_data_container(Rc::clone(&resource.data));
        if let Some(access) = &resource.access {
            access(request.request())?;
        }
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        let mut handlers = resource.methods.iter().zip(routes);
        let handler = handlers.find(|(known, _)| *known == method).map(|(_, handler)| handler);
        handler.ok_or_else(|| ApiError::MethodNotAllowed(resource.allow.clone()))
    }
}

impl Service<ServiceRequest> for RouterService {
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<ServiceResponse, Error>>;

    always_ready!();

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        match self.handler(&mut request) {
            Ok(handler) => handler.call(request),
            Err(error) => ready(Ok(request.error_response(error))).boxed_local(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::{
        App,
        dev::ResourceDef,
        test::{TestRequest, call_and_read_body, init_service},
    };

    const PATTERNS: [&str; 6] = ["/", "/a", "/a/{x}", "/a/{x}/b", "/a/{x}/{y}", "/a/c/b"];

    #[test]
    fn matches_the_paths_that_actix_web_matches() {
        let Router(resources) = Router::new(PATTERNS.map(resource));
        for path in [
            "/", "", "*", "//", "/a", "/a/", "a", "/b", "/a//", "/a/1", "/a/b", "/a/{x}", "/a/1/", "/a/1/b",
            "/a//b", "/a/1/b/", "/a/1/c", "/a/c/b", "/A", "/a/ä\n", "/a/1/2/3", "//a",
        ] {
            let sent: Vec<_> = segments(path).collect();
            for ((resource, _), pattern) in resources.iter().zip(PATTERNS) {
                assert_eq!(
                    resource.matches(&sent),
                    ResourceDef::new(pattern).is_match(path),
                    "{pattern} {path}"
                );
            }
        }
    }

    #[actix_web::test]
    async fn passes_decoded_parameters_to_the_first_match() {
        let handler = |request: HttpRequest| async move {
            let part = |name| parameter(&request, name).to_owned();
            format!("{} {} {}", request.app_data::<Routed>().unwrap().0, part("x"), part("y"))
        };
        let router = Router::new(PATTERNS.map(|pattern| reading(pattern, handler)));
        let app = init_service(App::new().configure(|config| {
            config.default_service(router);
        }))
        .await;
        for (path, expected) in [
            ("/a?x=2", "/a  "),
            ("/a/1", "/a/{x} 1 "),
            ("/a/c/b", "/a/{x}/b c "),
            ("/a/%C3%A4/2", "/a/{x}/{y} ä 2"),
            ("/a/1%2F2/%33", "/a/{x}/{y} 1%2F2 3"),
        ] {
            let answer = call_and_read_body(&app, TestRequest::get().uri(path).to_request()).await;
            assert_eq!(answer, expected, "{path}");
        }
    }
}
