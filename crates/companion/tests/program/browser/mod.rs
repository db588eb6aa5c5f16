//! The dashboard in a real browser: Chromium without a window, the program itself, a platform on another site, and a
//! database in a file.

mod axe;
mod chromium;
mod demo;
mod faults;
mod flow;
mod keyboard;
mod live;
mod page;
mod quiet;
mod screens;
mod stage;
