//! Raising errors with SQLSTATE, message, detail and hint.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

#[track_caller]
pub(crate) fn raise(code: PgSqlErrorCode, message: impl Into<String>, hint: impl Into<String>) -> ! {
    raise_with_detail(code, message, "", hint)
}

/// Functions that raise an error of one code.
macro_rules! errors {
    ($($name:ident $code:ident;)*) => {$(
        #[track_caller]
        pub(crate) fn $name(message: impl Into<String>, hint: impl Into<String>) -> ! {
            raise(PgSqlErrorCode::$code, message, hint)
        }
    )*};
}
errors! {
    raise_corrupted ERRCODE_DATA_CORRUPTED;
    raise_definition ERRCODE_INVALID_OBJECT_DEFINITION;
    raise_denied ERRCODE_INSUFFICIENT_PRIVILEGE;
    raise_elements ERRCODE_ARRAY_ELEMENT_ERROR;
    raise_generated ERRCODE_GENERATED_ALWAYS;
    raise_internal ERRCODE_INTERNAL_ERROR;
    raise_invalid ERRCODE_INVALID_PARAMETER_VALUE;
    raise_kind ERRCODE_WRONG_OBJECT_TYPE;
    raise_mismatch ERRCODE_DATATYPE_MISMATCH;
    raise_no_column ERRCODE_UNDEFINED_COLUMN;
    raise_no_object ERRCODE_UNDEFINED_OBJECT;
    raise_no_table ERRCODE_UNDEFINED_TABLE;
    raise_null ERRCODE_NULL_VALUE_NOT_ALLOWED;
    raise_protocol ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED;
    raise_state ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    raise_duplicate_table ERRCODE_DUPLICATE_TABLE;
    raise_too_much ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    raise_cardinality ERRCODE_CARDINALITY_VIOLATION;
    raise_duplicate_column ERRCODE_DUPLICATE_COLUMN;
    raise_representation ERRCODE_INVALID_TEXT_REPRESENTATION;
    raise_unsupported ERRCODE_FEATURE_NOT_SUPPORTED;
}

#[track_caller]
pub(crate) fn raise_with_detail(
    code: PgSqlErrorCode,
    message: impl Into<String>,
    detail: impl Into<String>,
    hint: impl Into<String>,
) -> ! {
    let (message, hint) = (bounded(message.into()), bounded(hint.into()));
    report(PgLogLevel::ERROR, code, message, detail.into(), hint);
    unreachable!("an error report does not return")
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

/// An empty detail or hint is none: PostgreSQL would show the word without anything.
#[track_caller]
fn report(level: PgLogLevel, code: PgSqlErrorCode, message: String, detail: String, hint: String) {
    let mut report = ErrorReport::new(code, message, "pg_dedup");
    if !detail.is_empty() {
        report = report.set_detail(detail);
    }
    if !hint.is_empty() {
        report = report.set_hint(hint);
    }
    report.report(level);
}

pub(crate) fn notice(message: impl Into<String>, detail: impl Into<String>, hint: impl Into<String>) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    report(PgLogLevel::NOTICE, code, message.into(), detail.into(), hint.into());
}

/// The value of an argument; raises an error if it is NULL.
pub(crate) fn required<T>(argument: Option<T>, name: &str, hint: &str) -> T {
    argument.unwrap_or_else(|| raise_null(format!("{name} must not be null"), hint))
}
