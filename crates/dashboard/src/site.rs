//! What every page shows, and which pictures are allowed.

use crate::{
    asset::Assets,
    context::{DashboardSettings, PlatformApplication},
    page::Protection,
};
use companion_domain::model::{GuildId, PictureServer, WebUrl};
use std::sync::Arc;

const DEFAULT_TAGLINE: &str = "See the guilds that you run, what you may do in each of them, and why.";

/// What all pages share.
pub(crate) struct Site {
    pub(crate) settings: Arc<DashboardSettings>,
    pub(crate) assets: Assets,
    pub(crate) pictures: Pictures,
    pub(crate) protection: Protection,
    /// Whether the invite link is a page of the platform, which takes the guild as a parameter.
    can_preselect: bool,
}

impl Site {
    pub(crate) fn new(settings: Arc<DashboardSettings>) -> Self {
        let pictures = Pictures::at(&settings.cdn_url);
        let platform = settings.platform.as_ref().zip(settings.invite_url.as_ref());
        let is_of_platform = |(app, invite): (&PlatformApplication, &WebUrl)| {
            origin_of(app.authorize_url.as_str()) == origin_of(invite.as_str())
        };
        Self {
            assets: Assets::new(&settings.appearance),
            protection: Protection::new(&pictures.origin),
            pictures,
            can_preselect: platform.is_some_and(is_of_platform),
            settings,
        }
    }

    pub(crate) fn tagline(&self) -> &str {
        self.settings.appearance.tagline.as_deref().unwrap_or(DEFAULT_TAGLINE)
    }

    /// Returns the invite link with this guild preselected, if the platform allows that.
    pub(crate) fn invite_to(&self, guild: GuildId) -> Option<String> {
        let plain = self.settings.invite_url.as_ref()?.to_string();
        let Some(mut url) = url::Url::parse(&plain).ok().filter(|_| self.can_preselect) else {
            return Some(plain);
        };
        url.query_pairs_mut().append_pair("guild_id", &guild.to_string());
        Some(url.into())
    }

    /// Returns the address of a picture for links to this site in other places, which show no SVG.
    pub(crate) fn preview(&self) -> Option<String> {
        let icon = &self.assets.icon;
        (icon.media_type != "image/svg+xml").then(|| format!("{}{}", self.settings.url, icon.path))
    }
}

/// The pictures that pages may show: only those of the platform, because any other host would learn of every visitor.
#[derive(Debug, Clone)]
pub(crate) struct Pictures {
    origin: String,
    pub(crate) server: PictureServer,
}

/// A picture, or initials in its place.
pub(crate) struct Picture {
    pub(crate) url: Option<String>,
    pub(crate) initials: String,
}

impl Pictures {
    /// Allows pictures of this server.
    pub(crate) fn at(cdn: &WebUrl) -> Self {
        Self { origin: origin_of(cdn.as_str()), server: PictureServer::new(cdn.clone()) }
    }

    /// Returns the picture at this URL if its origin is allowed, with the initials of `name` otherwise.
    pub(crate) fn picture(&self, url: &str, name: &str) -> Picture {
        let shown = origin_of(url) == self.origin;
        Picture { url: shown.then(|| url.to_owned()), initials: initials(name) }
    }
}

/// Returns the origin of a URL; empty, which is never allowed, if it cannot be parsed.
fn origin_of(url: &str) -> String {
    url::Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// Returns the initials of the first two words, or a question mark.
fn initials(name: &str) -> String {
    let letter = |word: &str| word.chars().find(|letter| letter.is_alphanumeric());
    let letters: String =
        name.split_whitespace().filter_map(letter).take(2).flat_map(char::to_uppercase).collect();
    if letters.is_empty() { "?".to_owned() } else { letters }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_only_pictures_of_the_platform() {
        let pictures = Pictures::at(&"https://cdn.example/base".parse().unwrap());
        assert_eq!(pictures.origin, "https://cdn.example");
        let shown = |url| pictures.picture(url, "Night Owl").url.is_some();
        assert!(shown("https://cdn.example/a.png"));
        assert!(shown("https://CDN.example:443/a.png"));
        for foreign in [
            "http://cdn.example/a.png",
            "https://cdn.example.evil.example/a.png",
            "https://cdn.example:8443/a.png",
            "https://evil.example/https://cdn.example/",
        ] {
            assert!(!shown(foreign), "{foreign}");
        }
    }

    #[test]
    fn takes_initials_from_the_first_two_words() {
        for (name, expected) in
            [("Night Owl", "NO"), ("one two three", "OT"), ("éclair", "É"), ("<b> 7up", "B7"), ("…", "?")]
        {
            assert_eq!(initials(name), expected, "{name}");
        }
    }
}
