//! The dashboard application and its routes.

use crate::{
    asset,
    context::{DashboardContext, DashboardSettings, Exchange},
    devices,
    failure::FailurePages,
    form::{form, page_with_form, theme},
    guild_list, home, hub, live, my_data,
    page::without_trailing_slash,
    settings, sign_in, status,
    visitor::{keep_header, page},
};
use actix_web::{
    App,
    body::BoxBody,
    dev::ServiceRequest,
    middleware::{Next, from_fn},
    web::{self, ServiceConfig},
};
use companion_domain::{
    port::{Clock, Entropy},
    usecase::UseCases,
};
use companion_http::{
    Application, MetricsSource, Projections, RunningServer, ServerLimits, Shell, ShellSettings,
    SignInAttempts, Socket,
    routing::{Resource, reading},
    serve,
    settings::MAX_CHANGE_BYTES,
};
use std::{io, sync::Arc};

/// The dashboard. It can be served any number of times.
#[derive(Clone)]
pub struct Dashboard {
    context: web::Data<DashboardContext>,
    shell: Shell,
}

impl Dashboard {
    /// Creates the dashboard over these use cases. It shares sign-in limits with the public API.
    #[must_use]
    pub fn new(
        use_cases: &UseCases,
        projections: Arc<Projections>,
        sign_ins: Arc<SignInAttempts>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        settings: DashboardSettings,
    ) -> Self {
        let shell = Shell::new(ShellSettings {
            listener: "dashboard",
            paths: ROUTES.map(|(path, _)| path).to_vec(),
            // Pages are for people. Scripts of other sites use the public API.
            allowed_origins: Vec::new(),
            body_limit: settings.body_limit,
            access_log: settings.access_log,
            tls: settings.tls,
            trusted_proxies: settings.trusted_proxies.clone(),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
        });
        let (use_cases, settings) = (use_cases.clone(), Arc::new(settings));
        let context = DashboardContext::new(use_cases, projections, sign_ins, clock, entropy, settings);
        let errors = FailurePages(Arc::clone(&context.site));
        Self { context: web::Data::new(context), shell: shell.with_error_pages(Arc::new(errors)) }
    }

    /// Returns its metrics, for the management API.
    #[must_use]
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        self.shell.metrics()
    }

    fn configure(&self, config: &mut ServiceConfig) {
        config.app_data(self.context.clone()).app_data(web::Data::new(self.shell.clone()));
        self.shell.configure(config, ROUTES.into_iter().map(|(path, resource)| resource(path)));
    }

    /// Returns the whole application, for a server or a test.
    pub fn app(&self) -> App<impl Application + use<>> {
        let context = self.context.clone();
        let protected = move |request: ServiceRequest, next: Next<BoxBody>| {
            let context = context.clone();
            async move {
                let mut answer = match without_trailing_slash(&request) {
                    Some(redirect) => request.into_response(redirect?),
                    None => next.call(request).await?,
                };
                if answer.response().error().is_some() {
                    let (context, request) = (context.clone(), answer.request().clone());
                    keep_header(&Exchange { context, request }, answer.status()).await;
                }
                context.site.protection.add(answer.headers_mut());
                Ok(answer)
            }
        };
        App::new()
            .wrap(from_fn(protected))
            .wrap(self.shell.clone())
            .configure(|config| self.configure(config))
    }
}

/// Serves the dashboard on a bound listener. Must be called within a tokio runtime.
pub fn serve_dashboard(
    dashboard: Dashboard,
    socket: Socket,
    limits: ServerLimits,
) -> io::Result<RunningServer> {
    let shell = dashboard.shell.clone();
    serve(move || dashboard.app(), &shell, socket, limits)
}

/// A path and its resource.
pub(crate) type Route = (&'static str, fn(&'static str) -> Resource);

/// All routes. If two match a path, the first one wins.
pub(crate) const ROUTES: [Route; 24] = [
    ("/", |path| reading(path, home::show)),
    ("/team", |path| reading(path, home::show_team)),
    ("/status", |path| reading(path, status::show)),
    ("/status.json", |path| reading(path, status::json)),
    ("/badge.svg", |path| reading(path, status::badge)),
    ("/guilds", |path| page(path, guild_list::list)),
    ("/guilds/{guild}", |path| page_with_form(path, settings::show, settings::save, MAX_CHANGE_BYTES)),
    ("/guilds/{guild}/permissions", |path| page(path, hub::permissions)),
    ("/guilds/{guild}/history", |path| page_with_form(path, settings::show_history, settings::undo, 0)),
    ("/devices", |path| page(path, devices::list)),
    ("/devices/end", |path| form(path, devices::end)),
    ("/devices/end-all", |path| form(path, devices::end_all)),
    ("/my-data", |path| page(path, my_data::show)),
    ("/my-data/download", |path| page(path, my_data::download)),
    ("/my-data/forget", |path| page_with_form(path, my_data::ask, my_data::forget, 0)),
    ("/forgotten", |path| reading(path, my_data::forgotten)),
    ("/sign-in", |path| reading(path, sign_in::begin)),
    ("/callback", |path| reading(path, sign_in::finish)),
    ("/blocked", |path| reading(path, sign_in::blocked)),
    ("/sign-out", |path| form(path, sign_in::sign_out)),
    ("/theme", theme),
    ("/robots.txt", |path| reading(path, asset::robots)),
    ("/live", |path| reading(path, live::serve)),
    (asset::PATH, |path| reading(path, asset::serve)),
];
