//! The line format of syncs, imports and exports: newline-delimited JSON, each line one record with its `kind`.

mod lines;
#[cfg(test)]
mod round_trip;
mod source;
mod write;

pub use self::{
    lines::Lines,
    source::{StreamedRecords, Streamer, streamed_records},
    write::write_record,
};
pub use crate::input::Accepted;
