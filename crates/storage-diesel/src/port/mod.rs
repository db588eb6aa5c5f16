//! A thin implementation of each port: it chooses the statements and the kind of transaction.

mod fed;
mod people;
mod reading;
mod settings;
