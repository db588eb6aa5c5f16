//! SQL that reads the timeline of the server. Every role may run it.

/// The number of the timeline, or NULL on a standby: its timeline is that of another server, which it may lag behind.
/// The number is the prefix of the current WAL file name, because the control file is only as recent as the last
/// checkpoint.
pub(crate) const NUMBER: &str = "CASE WHEN pg_is_in_recovery() THEN NULL \
     ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END";
