//! Which timeline the server is on. Any role may ask.

/// Its number, or nothing on a standby: that has the timeline of another server, and may lag behind it. The name of a log
/// file begins with it; what the control file says is as old as the last checkpoint.
pub(crate) const NUMBER: &str = "CASE WHEN pg_is_in_recovery() THEN NULL \
     ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END";
