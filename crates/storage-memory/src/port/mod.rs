//! The ports, one thin implementation each.

mod fed;
mod people;
mod reading;
