//! Tables as SQL names them.

use crate::{connection::AnyBackend, schema::Column};
use diesel::query_builder::AstPass;

/// A table as SQL names it. The columns are those of its row, the keys among them.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [&'static str],
    pub(crate) columns: &'static [Column],
    /// The table that its rows are staged in; empty where no sync brings them.
    pub(crate) staged: &'static str,
}

impl Table {
    /// The names of the columns of its row.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.columns.iter().map(|column| column.name)
    }

    /// The same without the keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'static str> {
        let keys = self.keys;
        self.names().filter(move |name| !keys.contains(name))
    }

    /// The table of the staged rows that differ from what is stored, each with what has to be done.
    pub(crate) fn differing(&self) -> String {
        format!("{}_differing", self.staged)
    }
}

/// Adds a name of ours to a statement. There is no quote in any of them, so nothing has to be escaped.
pub(super) fn push_name(out: &mut AstPass<'_, '_, AnyBackend>, name: &str) {
    out.push_sql("\"");
    out.push_sql(name);
    out.push_sql("\"");
}
