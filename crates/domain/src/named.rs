//! Values that are text outside.

/// Declares an enum by the names of its values, with a list of all. `parsed` adds a parser, whose errors name the field
/// and what it must be.
macro_rules! named {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$about:meta])* $variant:ident = $text:literal),+ $(,)?
        }
        $(parsed as $field:literal: $expected:literal)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $(#[$about])* $variant),+
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// Returns the external name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        $($crate::named::parsed!($name, $field, $expected, |text| {
            Self::ALL.into_iter().find(|known| known.as_str() == text)
        });)?
    };
}

pub(crate) use named;

/// Implements the parser of a value type: a function that returns `None` for what it refuses, and the error, which names
/// the field and what it must be.
macro_rules! parsed {
    ($name:ident, $field:literal, $expected:expr, $parse:expr) => {
        impl std::str::FromStr for $name {
            type Err = $crate::invalid::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let parse: fn(&str) -> Option<Self> = $parse;
                parse(text).ok_or($crate::invalid::Invalid::new($field, $expected))
            }
        }
    };
}

pub(crate) use parsed;

/// Declares a type of text that a function accepts, with its parser. The text is in a box unless another pointer is named.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $expected:expr, $accepts:expr) => {
        $crate::named::checked_text!($(#[$doc])* $name(Box<str>), $field, $expected, $accepts);
    };
    ($(#[$doc:meta])* $name:ident($text:ty), $field:literal, $expected:expr, $accepts:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($text);

        impl $name {
            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        $crate::named::parsed!($name, $field, $expected, |text| {
            let is_accepted: fn(&str) -> bool = $accepts;
            is_accepted(text).then(|| Self(text.into()))
        });
    };
}

pub(crate) use checked_text;
