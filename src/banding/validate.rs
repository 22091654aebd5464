//! `amvalidate`: checks that every operator of an operator class does what its strategy number means.

use super::{DISTANCE, EQUAL, NEAR, WITHIN};
use crate::pg::{Argument, query_all};
use pgrx::prelude::*;
use pgrx::{pg_guard, pg_sys};

/// What is wrong with the operator class `opclass`, one sentence per fault. Operators are of the four strategies, of the
/// right kind (search or ordering), and give a boolean or, to order by, an integer. Those of fingerprints, strategies 1 and 3,
/// take `bigint`, or `bit` in a class for that, on the left, and both are there; a class for `hamming_ball` has strategy 2 alone; a class without them is for
/// scopes: then strategy 4 is there, and function 1, which gives the hash of a value with a seed, for each type that it compares.
const FAULTS: &str = "
    WITH class AS (SELECT c.oid, c.opcname, c.opcfamily, c.opcintype,
                          t.typname OPERATOR(pg_catalog.=) 'hamming_ball' AND t.typlen OPERATOR(pg_catalog.=) 16 AS balls,
                          CASE WHEN t.oid OPERATOR(pg_catalog.=) 'pg_catalog.bit'::pg_catalog.regtype THEN t.oid
                               ELSE 'pg_catalog.int8'::pg_catalog.regtype::pg_catalog.oid END AS own
                     FROM pg_catalog.pg_opclass c, pg_catalog.pg_type t
                    WHERE c.oid OPERATOR(pg_catalog.=) $1 AND t.oid OPERATOR(pg_catalog.=) c.opcintype),
         member AS (SELECT o.*, p.oprleft, p.oprright, p.oprresult, p.oprname
                      FROM class, pg_catalog.pg_amop o, pg_catalog.pg_operator p
                     WHERE o.amopfamily OPERATOR(pg_catalog.=) class.opcfamily
                       AND p.oid OPERATOR(pg_catalog.=) o.amopopr),
         near AS (SELECT member.* FROM member, class WHERE amopstrategy OPERATOR(pg_catalog.=) ANY (ARRAY[$2, $4]) AND NOT balls),
         hash AS (SELECT f.*, p.proname, p.pronargs, p.proargtypes, p.prorettype
                    FROM class, pg_catalog.pg_amproc f, pg_catalog.pg_proc p
                   WHERE f.amprocfamily OPERATOR(pg_catalog.=) class.opcfamily
                     AND p.oid OPERATOR(pg_catalog.=) f.amproc)
    SELECT pg_catalog.format('operator class \"%s\" is for type %s, not bigint',
               opcname, pg_catalog.format_type(opcintype, NULL))
      FROM class WHERE opcintype OPERATOR(pg_catalog.<>) own AND NOT balls
                   AND (EXISTS (SELECT FROM near) OR NOT EXISTS (SELECT FROM hash))
    UNION ALL
    SELECT pg_catalog.format('operator %s has strategy %s, which banding does not know', oprname, amopstrategy)
      FROM member, class WHERE NOT balls AND amopstrategy OPERATOR(pg_catalog.<>) ALL (ARRAY[$2, $4, $5])
    UNION ALL
    SELECT pg_catalog.format('operator %s of strategy %s has the wrong purpose', oprname, amopstrategy)
      FROM member WHERE (amoppurpose OPERATOR(pg_catalog.=) 'o') OPERATOR(pg_catalog.<>)
                        (amopstrategy OPERATOR(pg_catalog.=) $4)
    UNION ALL
    SELECT pg_catalog.format('operator %s does not take a %s on its left', oprname, pg_catalog.format_type(own, NULL))
      FROM near, class WHERE oprleft OPERATOR(pg_catalog.<>) own
    UNION ALL
    SELECT pg_catalog.format('operator %s does not take a %s on its right', oprname, pg_catalog.format_type(own, NULL))
      FROM near, class WHERE amopstrategy OPERATOR(pg_catalog.=) $4 AND oprright OPERATOR(pg_catalog.<>) own
    UNION ALL
    SELECT pg_catalog.format('operator %s does not take a ball on its right', oprname)
      FROM near, class, pg_catalog.pg_type t
     WHERE amopstrategy OPERATOR(pg_catalog.=) $2 AND t.oid OPERATOR(pg_catalog.=) oprright
       AND CASE WHEN own OPERATOR(pg_catalog.=) opcintype AND own OPERATOR(pg_catalog.=) 'pg_catalog.bit'::pg_catalog.regtype
                THEN t.oid OPERATOR(pg_catalog.<>) 'pg_catalog.bytea'::pg_catalog.regtype
                ELSE t.typname OPERATOR(pg_catalog.<>) 'hamming_ball' OR t.typlen OPERATOR(pg_catalog.<>) 16 END
    UNION ALL
    SELECT pg_catalog.format('operator %s gives %s', oprname, pg_catalog.format_type(oprresult, NULL))
      FROM member WHERE oprresult OPERATOR(pg_catalog.<>)
          CASE WHEN amopstrategy OPERATOR(pg_catalog.=) $4 THEN 'pg_catalog.int4'::pg_catalog.regtype
               ELSE 'pg_catalog.bool'::pg_catalog.regtype END
    UNION ALL
    SELECT pg_catalog.format('operator %s of strategy %s is not for two balls', oprname, amopstrategy)
      FROM member, class WHERE balls AND (amopstrategy OPERATOR(pg_catalog.<>) $3
                                          OR oprleft OPERATOR(pg_catalog.<>) opcintype OR oprright OPERATOR(pg_catalog.<>) opcintype)
    UNION ALL
    SELECT pg_catalog.format('strategy %s has no operator', s)
      FROM class, pg_catalog.unnest(CASE WHEN balls THEN ARRAY[$3] ELSE ARRAY[$2, $4] END) s
     WHERE NOT EXISTS (SELECT FROM member WHERE amopstrategy OPERATOR(pg_catalog.=) s)
       AND (EXISTS (SELECT FROM near) OR NOT EXISTS (SELECT FROM hash))
    UNION ALL
    SELECT pg_catalog.format('strategy %s has no operator', $5)
      FROM class WHERE EXISTS (SELECT FROM hash)
       AND NOT EXISTS (SELECT FROM member WHERE amopstrategy OPERATOR(pg_catalog.=) $5
                          AND amoplefttype OPERATOR(pg_catalog.=) opcintype
                          AND amoprighttype OPERATOR(pg_catalog.=) opcintype)
    UNION ALL
    SELECT pg_catalog.format('operator %s has no function 1 for type %s', oprname, pg_catalog.format_type(t, NULL))
      FROM member, pg_catalog.unnest(ARRAY[amoplefttype, amoprighttype]) t
     WHERE amopstrategy OPERATOR(pg_catalog.=) $5
       AND NOT EXISTS (SELECT FROM hash WHERE amproclefttype OPERATOR(pg_catalog.=) t
                          AND amprocrighttype OPERATOR(pg_catalog.=) t)
    UNION ALL
    SELECT pg_catalog.format('function %s is not a hash of a value with a seed', proname)
      FROM hash WHERE amprocnum OPERATOR(pg_catalog.<>) 1 OR pronargs OPERATOR(pg_catalog.<>) 2
                   OR prorettype OPERATOR(pg_catalog.<>) 'pg_catalog.int8'::pg_catalog.regtype
                   OR proargtypes[1] OPERATOR(pg_catalog.<>) 'pg_catalog.int8'::pg_catalog.regtype";

/// Whether the operator class is valid; a message names each fault.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn amvalidate(opclass: pg_sys::Oid) -> bool {
    let strategy = |number: u16| Argument::of(i32::from(number));
    let arguments =
        [Argument::of(opclass), strategy(WITHIN), strategy(NEAR), strategy(DISTANCE), strategy(EQUAL)];
    let faults = query_all(FAULTS, &arguments, |row| row.text(0).unwrap_or_default());
    for fault in &faults {
        ereport!(PgLogLevel::INFO, PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, fault.clone());
    }
    faults.is_empty()
}
