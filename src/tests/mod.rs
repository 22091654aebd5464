//! Tests inside the server.
