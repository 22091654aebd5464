//! `amvalidate`: checks that every operator of an operator class does what its strategy number
//! means.

use super::{DISTANCE, NEAR, WITHIN};
use crate::pg::spi::{Argument, query_all};
use pgrx::prelude::*;
use pgrx::{pg_guard, pg_sys};

/// What is wrong with the operator class `opclass`, one sentence per fault. A class is over
/// `bigint`; its operators are of the three strategies, of the right kind (search or ordering),
/// take `bigint` on the left, and give a boolean or, to order by, an integer; and strategies 1 and
/// 3, which every class needs, are there. The access method has no support functions.
const FAULTS: &str = "
    WITH class AS (SELECT c.oid, c.opcname, c.opcfamily, c.opcintype
                     FROM pg_catalog.pg_opclass c WHERE c.oid OPERATOR(pg_catalog.=) $1),
         member AS (SELECT o.*, p.oprleft, p.oprright, p.oprresult, p.oprname
                      FROM class, pg_catalog.pg_amop o, pg_catalog.pg_operator p
                     WHERE o.amopfamily OPERATOR(pg_catalog.=) class.opcfamily
                       AND p.oid OPERATOR(pg_catalog.=) o.amopopr)
    SELECT pg_catalog.format('operator class \"%s\" is for type %s, not bigint',
               opcname, pg_catalog.format_type(opcintype, NULL))
      FROM class WHERE opcintype OPERATOR(pg_catalog.<>) 'pg_catalog.int8'::pg_catalog.regtype
    UNION ALL
    SELECT pg_catalog.format('operator %s has strategy %s, which banding does not know', oprname, amopstrategy)
      FROM member WHERE amopstrategy NOT IN ($2, $3, $4)
    UNION ALL
    SELECT pg_catalog.format('operator %s of strategy %s has the wrong purpose', oprname, amopstrategy)
      FROM member WHERE (amoppurpose OPERATOR(pg_catalog.=) 'o') OPERATOR(pg_catalog.<>)
                        (amopstrategy OPERATOR(pg_catalog.=) $4)
    UNION ALL
    SELECT pg_catalog.format('operator %s does not take a bigint on its left', oprname)
      FROM member WHERE oprleft OPERATOR(pg_catalog.<>) 'pg_catalog.int8'::pg_catalog.regtype
    UNION ALL
    SELECT pg_catalog.format('operator %s does not take a bigint on its right', oprname)
      FROM member WHERE amopstrategy IN ($3, $4)
                    AND oprright OPERATOR(pg_catalog.<>) 'pg_catalog.int8'::pg_catalog.regtype
    UNION ALL
    SELECT pg_catalog.format('operator %s does not take a hamming_ball on its right', oprname)
      FROM member, pg_catalog.pg_type t
     WHERE amopstrategy OPERATOR(pg_catalog.=) $2 AND t.oid OPERATOR(pg_catalog.=) oprright
       AND (t.typname OPERATOR(pg_catalog.<>) 'hamming_ball' OR t.typlen OPERATOR(pg_catalog.<>) 16)
    UNION ALL
    SELECT pg_catalog.format('operator %s gives %s', oprname, pg_catalog.format_type(oprresult, NULL))
      FROM member WHERE oprresult OPERATOR(pg_catalog.<>)
          CASE WHEN amopstrategy OPERATOR(pg_catalog.=) $4 THEN 'pg_catalog.int4'::pg_catalog.regtype
               ELSE 'pg_catalog.bool'::pg_catalog.regtype END
    UNION ALL
    SELECT pg_catalog.format('strategy %s has no operator', s)
      FROM class, pg_catalog.unnest(ARRAY[$2, $4]) s
     WHERE NOT EXISTS (SELECT FROM member WHERE amopstrategy OPERATOR(pg_catalog.=) s)
    UNION ALL
    SELECT 'the operator family has support functions'
      FROM class WHERE EXISTS (SELECT FROM pg_catalog.pg_amproc
                                WHERE amprocfamily OPERATOR(pg_catalog.=) class.opcfamily)";

/// Whether the operator class is valid; a message names each fault.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn amvalidate(opclass: pg_sys::Oid) -> bool {
    let strategy = |number: u16| Argument::of(i32::from(number));
    let arguments = [Argument::of(opclass), strategy(WITHIN), strategy(NEAR), strategy(DISTANCE)];
    let faults = query_all(FAULTS, &arguments, |row| row.text(0).unwrap_or_default());
    for fault in &faults {
        ereport!(PgLogLevel::INFO, PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, fault.clone());
    }
    faults.is_empty()
}
