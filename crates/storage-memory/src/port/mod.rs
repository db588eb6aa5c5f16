//! A thin implementation of each port.

mod fed;
mod people;
mod reading;
mod settings;
