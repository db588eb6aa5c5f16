//! What the documentation shows, as code that runs: a reader can paste any of it.

#[cfg(test)]
mod choosing_a_port;
#[cfg(test)]
mod snippets;
mod swapping_a_part;
