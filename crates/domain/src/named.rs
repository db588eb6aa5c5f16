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

        $(impl std::str::FromStr for $name {
            type Err = $crate::invalid::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|known| known.as_str() == text);
                found.ok_or($crate::invalid::Invalid::new($field, $expected))
            }
        })?
    };
}

pub(crate) use named;

/// Implements access to the text of a value type, and its display.
macro_rules! plain_text {
    ($name:ident) => {
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
    };
}

pub(crate) use plain_text;

/// Declares a type of text that a function accepts, with its parser, whose errors name the field and what it must be.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $field:literal, $expected:expr, $accepts:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        $crate::named::plain_text!($name);

        impl std::str::FromStr for $name {
            type Err = $crate::invalid::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let is_accepted: fn(&str) -> bool = $accepts;
                if is_accepted(text) {
                    Ok(Self(text.into()))
                } else {
                    Err($crate::invalid::Invalid::new($field, $expected))
                }
            }
        }
    };
}

pub(crate) use checked_text;
