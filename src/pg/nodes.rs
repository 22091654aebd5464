//! Nodes of parsed queries and plans.

use pgrx::{PgList, pg_sys};

/// A struct of PostgreSQL's that is a node.
pub(crate) trait Tagged {
    const TAG: pg_sys::NodeTag;
}

macro_rules! tagged {
    ($($name:ident $tag:ident;)*) => {$(
        impl Tagged for pg_sys::$name {
            const TAG: pg_sys::NodeTag = pg_sys::NodeTag::$tag;
        }
    )*};
}
tagged! {
    ArrayExpr T_ArrayExpr;
    CoerceViaIO T_CoerceViaIO;
    Const T_Const;
    FuncExpr T_FuncExpr;
    NullTest T_NullTest;
    OpExpr T_OpExpr;
    Param T_Param;
    RelabelType T_RelabelType;
    ScalarArrayOpExpr T_ScalarArrayOpExpr;
    SupportRequestIndexCondition T_SupportRequestIndexCondition;
    SupportRequestSelectivity T_SupportRequestSelectivity;
}

/// A node as what its tag says, if it is that.
///
/// # Safety
/// A node, which lives as long as what is returned.
pub(crate) unsafe fn node<'n, T: Tagged>(node: *mut pg_sys::Node) -> Option<&'n mut T> {
    // SAFETY: the caller's promise, and the tag.
    unsafe { if pgrx::is_a(node, T::TAG) { Some(&mut *node.cast()) } else { None } }
}

/// One of the expressions of a list, from 0.
///
/// # Safety
/// A list of nodes.
pub(crate) unsafe fn nth(list: *mut pg_sys::List, at: usize) -> Option<*mut pg_sys::Node> {
    // SAFETY: the caller's promise.
    unsafe { PgList::<pg_sys::Node>::from_pg(list).get_ptr(at) }
}
