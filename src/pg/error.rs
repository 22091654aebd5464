//! Raising errors with SQLSTATE, message, detail and hint.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

/// Raises an error.
#[track_caller]
pub(crate) fn raise(code: PgSqlErrorCode, message: impl Into<String>, hint: impl Into<String>) -> ! {
    report(ErrorReport::new(code, bounded(message.into()), "pg_dedup"), hint.into())
}

/// The names of a wide table's columns, or a name of a million letters, are not all shown.
fn bounded(mut text: String) -> String {
    const MOST: usize = 1500;
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST));
        text.push('…');
    }
    text
}

/// Raises an error with a detail.
#[track_caller]
pub(crate) fn raise_with_detail(
    code: PgSqlErrorCode,
    message: impl Into<String>,
    detail: impl Into<String>,
    hint: impl Into<String>,
) -> ! {
    report(ErrorReport::new(code, bounded(message.into()), "pg_dedup").set_detail(detail), hint.into())
}

/// An empty hint is none: PostgreSQL would show the word without anything.
fn report(error: ErrorReport, hint: String) -> ! {
    let error = if hint.is_empty() { error } else { error.set_hint(bounded(hint)) };
    error.report(PgLogLevel::ERROR);
    unreachable!("an error report does not return")
}

/// Emits a notice; an empty detail or hint is none.
pub(crate) fn notice(message: impl Into<String>, detail: impl Into<String>, hint: impl Into<String>) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    let mut notice = ErrorReport::new(code, message.into(), "pg_dedup");
    let (detail, hint) = (detail.into(), hint.into());
    if !detail.is_empty() {
        notice = notice.set_detail(detail);
    }
    if !hint.is_empty() {
        notice = notice.set_hint(hint);
    }
    notice.report(PgLogLevel::NOTICE);
}

/// The value of an argument; raises an error if it is NULL.
pub(crate) fn required<T>(argument: Option<T>, name: &str, hint: &str) -> T {
    argument.unwrap_or_else(|| {
        raise(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{name} must not be null"), hint)
    })
}
