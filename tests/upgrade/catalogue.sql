-- What an extension consists of, a line each: everything that CREATE EXTENSION leaves in the catalogue, with names for
-- oids. Two databases with the same lines have the same extension. Run by tests/tap/036_upgrade.pl.
SET search_path = pg_catalog;
WITH member AS (
    SELECT d.classid, d.objid, i.type, i.identity FROM pg_depend d, LATERAL pg_identify_object(d.classid, d.objid, 0) i
    WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
        AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'pg\_dedup%')
), detail AS (
    SELECT m.*, 'is' AS what, '' AS value FROM member m
    UNION ALL
    SELECT m.*, 'comment', c.objsubid || ' ' || c.description FROM member m JOIN pg_description c ON c.classoid = m.classid AND c.objoid = m.objid
    UNION ALL
    SELECT m.*, 'initial privileges', concat(i.objsubid, ' ', i.privtype, ' ', a) FROM member m
        JOIN pg_init_privs i ON i.classoid = m.classid AND i.objoid = m.objid, aclexplode(i.initprivs) a
    UNION ALL
    SELECT m.*, 'function', pg_get_functiondef(p.oid) FROM member m JOIN pg_proc p ON p.oid = m.objid AND p.prokind <> 'a'
    WHERE m.classid = 'pg_proc'::regclass
    UNION ALL
    SELECT m.*, 'aggregate', concat_ws(' ', a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn,
            a.aggminvtransfn, a.aggmfinalfn, a.aggkind, a.aggnumdirectargs, a.aggfinalextra, a.aggfinalmodify, a.aggsortop::regoperator,
            a.aggtranstype::regtype, a.aggtransspace, coalesce(a.agginitval, 'NULL'), p.provolatile, p.proparallel, p.proleakproof, p.proisstrict,
            pg_get_function_arguments(p.oid), pg_get_function_result(p.oid))
    FROM member m JOIN pg_proc p ON p.oid = m.objid JOIN pg_aggregate a ON a.aggfnoid = p.oid WHERE m.classid = 'pg_proc'::regclass
    UNION ALL
    SELECT m.*, 'privilege', a::text FROM member m JOIN pg_proc p ON p.oid = m.objid, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
    WHERE m.classid = 'pg_proc'::regclass
    UNION ALL
    SELECT m.*, 'operator', concat_ws(' ', o.oprcode, o.oprrest, o.oprjoin, o.oprcom::regoperator, o.oprnegate::regoperator,
            o.oprcanmerge, o.oprcanhash, o.oprresult::regtype)
    FROM member m JOIN pg_operator o ON o.oid = m.objid WHERE m.classid = 'pg_operator'::regclass
    UNION ALL
    SELECT m.*, 'type', concat_ws(' ', t.typlen, t.typbyval, t.typtype, t.typcategory, t.typispreferred, t.typdelim, t.typinput, t.typoutput,
            t.typreceive, t.typsend, t.typmodin, t.typmodout, t.typanalyze, t.typalign, t.typstorage, t.typnotnull, t.typbasetype::regtype,
            t.typtypmod, t.typndims, coalesce(t.typdefault, 'NULL'), t.typacl)
    FROM member m JOIN pg_type t ON t.oid = m.objid WHERE m.classid = 'pg_type'::regclass
    UNION ALL
    SELECT m.*, 'cast', concat_ws(' ', c.castfunc::regprocedure, c.castcontext, c.castmethod)
    FROM member m JOIN pg_cast c ON c.oid = m.objid WHERE m.classid = 'pg_cast'::regclass
    UNION ALL
    SELECT m.*, 'access method', concat_ws(' ', a.amhandler, a.amtype) FROM member m JOIN pg_am a ON a.oid = m.objid WHERE m.classid = 'pg_am'::regclass
    UNION ALL
    SELECT m.*, 'operator class', concat_ws(' ', c.opcintype::regtype, c.opcdefault, c.opckeytype::regtype)
    FROM member m JOIN pg_opclass c ON c.oid = m.objid WHERE m.classid = 'pg_opclass'::regclass
    UNION ALL
    SELECT m.*, 'member of the family', concat_ws(' ', o.amopstrategy, o.amoppurpose, o.amopopr::regoperator, f.opfname)
    FROM member m JOIN pg_amop o ON o.amopfamily = m.objid LEFT JOIN pg_opfamily f ON f.oid = o.amopsortfamily WHERE m.classid = 'pg_opfamily'::regclass
    UNION ALL
    SELECT m.*, 'function of the family', concat_ws(' ', p.amprocnum, p.amproc::regprocedure)
    FROM member m JOIN pg_amproc p ON p.amprocfamily = m.objid WHERE m.classid = 'pg_opfamily'::regclass
    UNION ALL
    SELECT m.*, 'relation', concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.reloptions, pg_get_viewdef(c.oid))
    FROM member m JOIN pg_class c ON c.oid = m.objid WHERE m.classid = 'pg_class'::regclass
    UNION ALL
    SELECT m.*, 'privilege', a::text FROM member m JOIN pg_class c ON c.oid = m.objid, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    WHERE m.classid = 'pg_class'::regclass
    UNION ALL
    SELECT m.*, 'column', concat_ws(' ', a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage, a.attidentity,
            a.attgenerated, a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid), a.attacl)
    FROM member m JOIN pg_attribute a ON a.attrelid = m.objid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE m.classid = 'pg_class'::regclass
    UNION ALL
    SELECT m.*, 'constraint', c.conname || ' ' || pg_get_constraintdef(c.oid) FROM member m JOIN pg_constraint c ON c.conrelid = m.objid
    WHERE m.classid = 'pg_class'::regclass
    UNION ALL
    SELECT m.*, 'index', pg_get_indexdef(i.indexrelid) FROM member m JOIN pg_index i ON i.indrelid = m.objid WHERE m.classid = 'pg_class'::regclass
    UNION ALL
    SELECT m.*, 'trigger', concat_ws(' ', t.tgenabled, pg_get_triggerdef(t.oid)) FROM member m JOIN pg_trigger t ON t.tgrelid = m.objid
    WHERE m.classid = 'pg_class'::regclass AND NOT t.tgisinternal
    UNION ALL
    SELECT m.*, 'policy', concat_ws(' ', y.polname, y.polcmd, y.polpermissive, pg_get_expr(y.polqual, y.polrelid), pg_get_expr(y.polwithcheck, y.polrelid))
    FROM member m JOIN pg_policy y ON y.polrelid = m.objid WHERE m.classid = 'pg_class'::regclass
    UNION ALL
    SELECT m.*, 'dumped', concat(e.extname, ' ', c.condition) FROM pg_extension e, unnest(e.extconfig, e.extcondition) c (relation, condition)
        JOIN member m ON m.objid = c.relation AND m.classid = 'pg_class'::regclass
    UNION ALL
    SELECT 0, 0, 'extension', extname::text, 'extension', concat_ws(' ', extrelocatable, extnamespace::regnamespace, extowner::regrole)
    FROM pg_extension WHERE extname LIKE 'pg\_dedup%'
)
-- Everything belongs to the one who runs this; the numbers of roles do not matter.
SELECT concat_ws(' ', type, identity, what, replace(value, E'\n', ' ')) FROM detail ORDER BY 1;
