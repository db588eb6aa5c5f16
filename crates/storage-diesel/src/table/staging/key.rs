//! Keys of rows, as a merge lists them.

use diesel::{
    QueryableByName,
    sql_types::{BigInt, Binary, Text},
};

#[derive(QueryableByName)]
pub(super) struct Number {
    #[diesel(sql_type = BigInt)]
    pub(super) first: i64,
}

#[derive(Clone, Copy, QueryableByName)]
pub(super) struct TwoNumbers {
    #[diesel(sql_type = BigInt)]
    pub(super) first: i64,
    #[diesel(sql_type = BigInt)]
    pub(super) second: i64,
}

#[derive(QueryableByName)]
pub(super) struct Word {
    #[diesel(sql_type = Text)]
    pub(super) first: String,
}

#[derive(QueryableByName)]
pub(super) struct Bytes {
    #[diesel(sql_type = Binary)]
    pub(super) first: Vec<u8>,
}
