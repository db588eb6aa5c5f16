//! The tables as Diesel sees them. Migrations make them; a test compares the two.

macro_rules! schema {
    ($($table:ident ($($key:ident),+) { $($column:ident -> $sql:ident $(<$inner:ident>)?,)+ })+) => {
        $(diesel::table! { $table ($($key),+) { $($column -> $sql $(<$inner>)?,)+ } })+

        diesel::allow_tables_to_appear_in_same_query!($($table),+);

        /// Every column of every table, for the test that compares a database with them.
        #[cfg(test)]
        pub(crate) const COLUMNS: &[Column] = &[
            $($(Column { table: stringify!($table), name: stringify!($column), holds: schema!(@type $sql $($inner)?) },)+)+
        ];
    };
    (@type Nullable $inner:ident) => { (schema!(@plain $inner), true) };
    (@type $sql:ident) => { (schema!(@plain $sql), false) };
    (@plain BigInt) => { ColumnType::Integer };
    (@plain Bool) => { ColumnType::Boolean };
    (@plain Text) => { ColumnType::Text };
    (@plain Binary) => { ColumnType::Bytes };
}

/// A column of a table.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    /// The table's name.
    pub(crate) table: &'static str,
    /// The column's name.
    pub(crate) name: &'static str,
    /// What it holds, and whether it may hold nothing.
    pub(crate) holds: (ColumnType, bool),
}

/// What a column holds. There is nothing else, so that every database can hold it.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// A number of 64 bits.
    Integer,
    /// Yes or no.
    Boolean,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
}

schema! {
    history (id) {
        id -> BigInt,
        revision -> BigInt,
        grant_offset -> BigInt,
    }
    changes (revision) {
        revision -> BigInt,
        kind -> Text,
        subject -> Text,
    }
    guilds (id) {
        id -> BigInt,
        name -> Text,
        icon -> Nullable<Text>,
        members -> BigInt,
        owner -> BigInt,
        setup -> Bool,
        linked -> Bool,
        bindings -> Text,
    }
    members (guild, user_id) {
        guild -> BigInt,
        user_id -> BigInt,
        roles -> Text,
    }
    subscriptions (user_id) {
        user_id -> BigInt,
        slots -> BigInt,
        guilds -> Text,
    }
    subscription_guilds (user_id, guild) {
        user_id -> BigInt,
        guild -> BigInt,
    }
    staff (user_id) {
        user_id -> BigInt,
        grants -> Text,
    }
    blocked (user_id) {
        user_id -> BigInt,
    }
    team (user_id, category) {
        user_id -> BigInt,
        category -> Text,
        username -> Text,
        name -> Text,
        avatar -> Text,
        role -> Text,
        color -> Text,
        position -> BigInt,
    }
    feedback (id) {
        id -> Text,
        message -> Text,
        rating -> BigInt,
        submitted_at -> BigInt,
        submitter_id -> BigInt,
        submitter_username -> Text,
        submitter_name -> Text,
        submitter_avatar -> Text,
        slot -> Nullable<BigInt>,
    }
    clusters (id) {
        id -> Text,
        report -> Text,
        received_at -> BigInt,
    }
    sessions (id) {
        id -> Binary,
        user_id -> BigInt,
        created_at -> BigInt,
        last_seen_at -> BigInt,
    }
    grants (user_id) {
        user_id -> BigInt,
        version -> BigInt,
        tokens -> Nullable<Binary>,
        list -> Nullable<Binary>,
        fetched_at -> Nullable<BigInt>,
        claim_until -> Nullable<BigInt>,
    }
    spent_codes (fingerprint) {
        fingerprint -> Binary,
        spent_until -> BigInt,
    }
}
