//! How operators make the site theirs: logo, accent, tagline and features.

use companion_domain::model::Colour;
use std::{fmt, str::FromStr};

/// What operators choose of the look of the site.
#[derive(Debug, Clone, Default)]
pub struct Appearance {
    /// What the bot is for, in a sentence.
    pub tagline: Option<String>,
    /// The logo.
    pub logo: Option<Logo>,
    /// The colour of buttons and links.
    pub accent: Option<Accent>,
    /// What the bot can do, for the home page.
    pub features: Vec<Feature>,
}

/// Something that the bot can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Its name.
    pub title: String,
    /// A sentence about it.
    pub text: String,
}

/// A picture in a format that every browser shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logo {
    pub(crate) content: Vec<u8>,
    /// The file name in its address.
    pub(crate) file: &'static str,
    pub(crate) media_type: &'static str,
}

/// Why a file is no logo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LogoError {
    /// It is larger than [`Logo::MAX_BYTES`].
    #[error("is larger than 64 KiB")]
    TooLarge,
    /// Its content is in another format.
    #[error("is neither PNG nor SVG nor WebP")]
    Unknown,
}

impl Logo {
    /// Maximum size, because every visitor loads it.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Recognises the format of a file by its content.
    ///
    /// # Errors
    ///
    /// If the file is too large, or of another format.
    pub fn new(content: Vec<u8>) -> Result<Self, LogoError> {
        if content.len() > Self::MAX_BYTES {
            return Err(LogoError::TooLarge);
        }
        let is_svg = || str::from_utf8(&content).is_ok_and(|text| text.contains("<svg"));
        let (file, media_type) = match content.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => ("logo.png", "image/png"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => ("logo.webp", "image/webp"),
            _ if is_svg() => ("logo.svg", "image/svg+xml"),
            _ => return Err(LogoError::Unknown),
        };
        Ok(Self { content, file, media_type })
    }
}

/// A colour in the sRGB space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rgb([u8; 3]);

const WHITE: Rgb = Rgb([255; 3]);
const BLACK: Rgb = Rgb([0; 3]);
/// The darkest surface of the light theme, and the lightest of the dark one: `--raised` of the style sheet. What can be
/// read there can be read on all others.
const LIGHT_SURFACE: Rgb = Rgb([0xec, 0xee, 0xfb]);
const DARK_SURFACE: Rgb = Rgb([0x22, 0x26, 0x3a]);
/// The contrast that WCAG 2 requires for text (level AA).
const MIN_CONTRAST: f64 = 4.5;

impl Rgb {
    /// Returns the relative luminance of WCAG 2.
    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Returns the contrast ratio of WCAG 2, from 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// Mixes in this percentage of another colour.
    fn mixed(self, other: Self, percent: u16) -> Self {
        let mut mixed = self.0;
        for (own, other) in mixed.iter_mut().zip(other.0) {
            let sum = u16::from(*own) * (100 - percent) + u16::from(other) * percent;
            *own = u8::try_from(sum / 100).unwrap_or(u8::MAX);
        }
        Self(mixed)
    }

    /// Returns the nearest mixture with `other` that can be read on a surface.
    fn readable(self, surface: Self, other: Self) -> Self {
        let mut mixtures = (0..100).map(|percent| self.mixed(other, percent));
        mixtures.find(|mixed| mixed.contrast(surface) >= MIN_CONTRAST).unwrap_or(other)
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// The colour of buttons and links, which can be read on every page. The dark theme has a lighter mixture of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accent(Rgb);

/// Why a colour is no accent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AccentError {
    /// It is not written as `#RRGGBB`.
    #[error("must be a colour like #3A3FD0")]
    Malformed,
    /// Text in this colour cannot be read.
    #[error("has a contrast of {contrast:.1} on light pages, and text needs 4.5")]
    Unreadable {
        /// Its contrast.
        contrast: f64,
        /// The nearest darker colour that can be read.
        nearest: String,
    },
}

impl FromStr for Accent {
    type Err = AccentError;

    fn from_str(text: &str) -> Result<Self, AccentError> {
        let colour: Option<Colour> = text.parse().ok();
        let number =
            colour.and_then(|colour| u32::from_str_radix(colour.as_str().strip_prefix('#')?, 16).ok());
        let [_, red, green, blue] = number.ok_or(AccentError::Malformed)?.to_be_bytes();
        let colour = Rgb([red, green, blue]);
        let contrast = colour.contrast(LIGHT_SURFACE);
        if contrast < MIN_CONTRAST {
            let nearest = colour.readable(LIGHT_SURFACE, BLACK).to_string();
            return Err(AccentError::Unreadable { contrast, nearest });
        }
        Ok(Self(colour))
    }
}

impl Accent {
    /// Returns the rule that replaces the colours of the style sheet.
    pub(crate) fn style(self) -> String {
        let dark = self.0.readable(DARK_SURFACE, WHITE);
        let (strong, dark_strong) = (self.0.mixed(BLACK, 20), dark.mixed(WHITE, 35));
        format!(
            "\n:root {{ --accent: light-dark({}, {dark}); --accent-strong: light-dark({strong}, {dark_strong}); }}\n",
            self.0
        )
    }
}

impl fmt::Display for Accent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_wcag() {
        assert!((WHITE.contrast(BLACK) - 21.0).abs() < 1e-9);
        assert!((Rgb([0x77; 3]).contrast(WHITE) - 4.48).abs() < 0.01);
    }

    #[test]
    fn an_accent_can_be_read_on_every_surface() {
        for text in ["#3A3FD0", "#000000", "#a01628", "#0f6238", "#5a3e00"] {
            let accent: Accent = text.parse().unwrap();
            assert_eq!(accent.to_string(), text.to_ascii_lowercase());
            let dark = accent.0.readable(DARK_SURFACE, WHITE);
            assert!(dark.contrast(DARK_SURFACE) >= MIN_CONTRAST, "{text} {dark}");
            assert!(accent.style().contains(&format!("--accent: light-dark({accent}, {dark})")));
        }
        for text in ["#ffcc00", "#00ff00", "#ffffff", "#7a7a7a"] {
            let Err(AccentError::Unreadable { nearest, .. }) = text.parse::<Accent>() else {
                panic!("{text}")
            };
            assert!(nearest.parse::<Accent>().is_ok(), "{text}: {nearest}");
        }
        for text in ["", "3a3fd0", "#3a3fd", "#3a3fd0a", "#3a3fdg", "#+a3fd0", "red", "#ää"] {
            assert_eq!(text.parse::<Accent>(), Err(AccentError::Malformed), "{text}");
        }
    }

    #[test]
    fn a_logo_is_known_by_its_content() {
        let file = |content: &[u8]| Logo::new(content.to_vec()).map(|logo| logo.file);
        assert_eq!(file(b"\x89PNG\r\n\x1a\n"), Ok("logo.png"));
        assert_eq!(file(b"RIFF\0\0\0\0WEBPVP8 "), Ok("logo.webp"));
        assert_eq!(file(b"<?xml version=\"1.0\"?><svg/>"), Ok("logo.svg"));
        assert_eq!(file(b"GIF89a"), Err(LogoError::Unknown));
        assert_eq!(file(b""), Err(LogoError::Unknown));
        assert_eq!(file(&[0; Logo::MAX_BYTES + 1]), Err(LogoError::TooLarge));
    }
}
