-- What the two extensions consist of.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
\do
CREATE VIEW member AS
SELECT e.extname AS extension, d.classid, d.objid, p.*
FROM pg_extension e
JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
WHERE e.extname ~ '^pg_dedup';
-- Functions: everything that computes from its arguments alone is immutable
-- and may run in a parallel worker, and what is expensive says so.
SELECT extension, objid::regprocedure AS function, provolatile AS volatility, proparallel AS parallel, proisstrict AS strict,
       procost AS cost, CASE WHEN proretset THEN prorows END AS rows
FROM member WHERE proname IS NOT NULL ORDER BY extension, objid::regprocedure::text COLLATE "C";
-- Those that are not, but for the steps of others: docs/reference.md says so of each.
SELECT DISTINCT extension, provolatile AS volatility, proparallel AS parallel, proname::text COLLATE "C" AS function
FROM member WHERE (provolatile, proparallel) <> ('i', 's') AND proname !~ '^_' ORDER BY 1, 2, 3, 4;
-- Every object is described: none is left here. (Row and array types are described by what they belong to.)
SELECT pg_describe_object(classid, objid, 0) AS "without a comment"
FROM member
WHERE obj_description(objid, classid::regclass::name) IS NULL
  AND NOT EXISTS (SELECT FROM pg_type t WHERE classid = 'pg_type'::regclass AND t.oid = objid AND (t.typrelid <> 0 OR t.typelem <> 0))
ORDER BY 1;
SELECT extname, obj_description(oid, 'pg_extension') IS NOT NULL AS described, extrelocatable AS relocatable
FROM pg_extension WHERE extname ~ '^pg_dedup' ORDER BY 1;
-- The operator is a function with a commutator, itself.
SELECT oprname, oprleft::regtype, oprright::regtype, oprresult::regtype, oprcode, oprcom::regoper
FROM pg_operator WHERE oprname = '<~>' AND oprleft = 'bigint'::regtype;
DROP VIEW member;
-- One needs the other.
DROP EXTENSION pg_dedup;
DROP EXTENSION pg_dedup CASCADE;
CREATE EXTENSION pg_dedup_papers;
CREATE EXTENSION pg_dedup_papers CASCADE;
DROP EXTENSION pg_dedup_papers, pg_dedup;
