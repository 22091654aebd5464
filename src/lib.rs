//! Near-duplicate rows in PostgreSQL.
