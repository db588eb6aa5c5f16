//! The dashboard in a real browser: Chromium without a window, the program itself, a platform on another site, and a
//! database in a file.
//!
//! `cfg(test)` tells the linter that all of this is tests, what they share included.

#[cfg(test)]
mod axe;
#[cfg(test)]
mod chromium;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod flow;
#[cfg(test)]
#[path = "../program/http.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod http;
#[cfg(test)]
mod keyboard;
#[cfg(test)]
mod live;
#[cfg(test)]
mod page;
#[cfg(test)]
#[path = "../program/program.rs"]
#[expect(dead_code, reason = "shared with tests that need more of it")]
mod program;
#[cfg(test)]
mod quiet;
#[cfg(test)]
mod screens;
#[cfg(test)]
mod stage;
