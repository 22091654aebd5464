-- What the extension consists of.
CREATE EXTENSION pg_dedup;
\do
-- Functions: everything that computes from its arguments alone is immutable
-- and may run in a parallel worker, and what is expensive says so.
SELECT p.oid::regprocedure AS function,
       p.provolatile AS volatility, p.proparallel AS parallel, p.proisstrict AS strict, p.procost AS cost,
       CASE WHEN p.proretset THEN p.prorows END AS rows
FROM pg_proc p
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pg_dedup'
ORDER BY p.oid::regprocedure::text COLLATE "C";
-- Those that are not, but for the steps of others: docs/reference.md lists them.
SELECT DISTINCT p.provolatile AS volatility, p.proparallel AS parallel, p.proname::text COLLATE "C" AS function
FROM pg_proc p
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pg_dedup'
WHERE (p.provolatile, p.proparallel) <> ('i', 's') AND p.proname !~ '^_' ORDER BY 1, 2, 3;
-- Every object is described: none is left here. (Row and array types are described by what they belong to.)
SELECT pg_describe_object(d.classid, d.objid, 0) AS "without a comment"
FROM pg_depend d
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pg_dedup'
WHERE d.deptype = 'e'
  AND obj_description(d.objid, d.classid::regclass::name) IS NULL
  AND NOT EXISTS (SELECT FROM pg_type t WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid AND (t.typrelid <> 0 OR t.typelem <> 0))
ORDER BY 1;
SELECT obj_description(oid, 'pg_extension') IS NOT NULL AS described, extrelocatable AS relocatable
FROM pg_extension WHERE extname = 'pg_dedup';
-- The operator is a function with a commutator, itself.
SELECT oprname, oprleft::regtype, oprright::regtype, oprresult::regtype, oprcode, oprcom::regoper
FROM pg_operator WHERE oprname = '<~>' AND oprleft = 'bigint'::regtype;
DROP EXTENSION pg_dedup;
