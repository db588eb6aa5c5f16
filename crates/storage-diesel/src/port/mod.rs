//! The ports, one thin implementation each: which statements run, in which kind of transaction.

mod fed;
mod people;
mod reading;
