//! Values that are one of a few words.

use crate::configuration::{
    mistake::Refusal,
    raw::Raw,
    setting::{Setting, quoted},
};
use serde_json::{Value, json};

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$what])* $variant),+
        }

        impl Setting for $name {
            fn read(raw: &Raw) -> Result<Self, Refusal> {
                let words = [$($word),+];
                match raw.text()? {
                    $($word => Ok(Self::$variant),)+
                    _ if words.len() == 1 => Err(Refusal::must_be(words.concat())),
                    _ => Err(Refusal::must_be(format_args!("one of {}", words.join(", ")))),
                }
            }

            fn schema() -> Value {
                json!({"enum": [$($word),+]})
            }

            fn show(&self) -> String {
                match self { $(Self::$variant => quoted(&$word)),+ }
            }
        }
    };
}

choice!(
    /// A chat platform.
    Provider {
        /// Discord.
        Discord = "discord",
    }
);

choice!(
    /// How the log is written.
    LogFormat {
        /// Lines for people.
        Human = "human",
        /// A JSON object a line, for programs.
        Json = "json",
    }
);

choice!(
    /// The least important events that are logged.
    LogLevel {
        /// Failures.
        Error = "error",
        /// What may become one.
        Warn = "warn",
        /// What an operator wants to know.
        Info = "info",
        /// What a developer wants to know.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_word_is_answered_with_the_right_ones() {
        let refusal = |raw: Result<LogLevel, Refusal>| raw.unwrap_err().to_string();
        let text = Raw::Text("loud".into());
        assert_eq!(refusal(LogLevel::read(&text)), "must be one of error, warn, info, debug, trace");
        assert_eq!(Provider::read(&text).unwrap_err().to_string(), "must be discord");
        assert_eq!(LogFormat::read(&Raw::Word("json".into())).unwrap(), LogFormat::Json);
    }
}
