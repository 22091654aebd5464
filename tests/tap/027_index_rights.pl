# Protects the owner of an index from those who may look into it: nothing of a
# caller's runs with the owner's rights, and nobody sees what a policy hides.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('index_rights');

sub run_as
{
	my ($role, $statements) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', "SET SESSION AUTHORIZATION $role;\n$statements");
	return ($ret, $out, $err);
}

# An index on a function that finds another by name. Its owner is a superuser,
# as that of most small databases.
$node->safe_psql(
	'postgres', <<'SQL');
CREATE ROLE mallory;
CREATE ROLE keeper;
CREATE SCHEMA mallory AUTHORIZATION mallory;
CREATE TABLE petition (id bigint, body text);
INSERT INTO petition SELECT i, 'Street lamp ' || i || ' is out' FROM generate_series(1, 100) i;
CREATE FUNCTION clean(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN lower(t); END';
CREATE INDEX petition_ix ON petition USING banding (simhash(clean(body)));
GRANT SELECT ON petition TO mallory;
CREATE TABLE mallory.caught (who name);
ALTER TABLE mallory.caught OWNER TO mallory;
GRANT INSERT ON mallory.caught TO PUBLIC;
GRANT USAGE ON SCHEMA mallory TO PUBLIC;
SET SESSION AUTHORIZATION mallory;
CREATE FUNCTION mallory.lower(t text) RETURNS text LANGUAGE plpgsql AS $$BEGIN
    INSERT INTO mallory.caught VALUES (current_user);
    RETURN pg_catalog.lower(t);
END$$;
SQL

my $path = 'SET search_path = mallory, pg_catalog, public';
foreach my $call ("public.banding_check('public.petition_ix', true)", "public.banding_check('public.petition_ix')")
{
	my ($ret, $out, $err) = run_as('mallory', "$path; SELECT $call");
	like($err, qr/^psql:.*ERROR:  must be owner of index petition_ix$/m, "who may only read the table may not call $call");
}
is(scalar_of($node, 'SELECT count(*) FROM mallory.caught'), '0', "a reader's function has not run");

# Who may check, does not run what the search path brings either, nor what
# stands among the temporary objects.
$node->safe_psql('postgres', "$path; SELECT public.banding_check('public.petition_ix', true)");
is(scalar_of($node, 'SELECT count(*) FROM mallory.caught'), '0', 'a superuser with any search path runs nothing of it');

$node->safe_psql('postgres', 'ALTER TABLE petition OWNER TO keeper; GRANT keeper TO mallory');
my ($ret, $out, $err) = run_as('mallory', "$path; SELECT public.banding_check('public.petition_ix', true)");
is("$ret$err", '0', 'a member of the owning role may check');
is(scalar_of($node, 'SELECT count(*) FROM mallory.caught'), '0', 'and runs nothing of the search path');
is($node->safe_psql('postgres', "SET search_path = mallory, public; SELECT public.banding_check('public.petition_ix', true); SHOW search_path"),
	"\nmallory, public", 'the search path is as before afterwards');

# Rows that a policy hides. Their fingerprints differ from the others in the
# first block.
$node->safe_psql(
	'postgres', <<'SQL');
CREATE ROLE clerk;
CREATE TABLE letter (id bigint PRIMARY KEY, office text, fp bigint);
INSERT INTO letter SELECT i, CASE WHEN i % 2 = 0 THEN 'clerk' ELSE 'other' END, test.random_fp(i) FROM generate_series(1, 20000) i;
INSERT INTO letter SELECT 30000 + i, 'other', x'5ec0e70000000000'::bigint + i FROM generate_series(1, 50) i;
CREATE INDEX letter_fp ON letter USING banding (fp);
ALTER TABLE letter ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON letter USING (office = current_user);
GRANT SELECT ON letter TO clerk;
VACUUM ANALYZE letter;
SQL
my $stats = "SELECT rows, hottest FROM banding_stats('letter_fp')";
(undef, $out) = run_as('clerk', $stats);
is($out, '20050|', 'banding_stats shows no bits of fingerprints to whom a policy hides rows');
like($node->safe_psql('postgres', $stats), qr/^20050\|.*"bucket": "0x5ec0"/, 'but to the owner');
$node->safe_psql('postgres', 'ALTER ROLE clerk BYPASSRLS');
(undef, $out) = run_as('clerk', $stats);
like($out, qr/^20050\|.*"bucket": "0x5ec0"/, 'and to whom it hides nothing');
$node->safe_psql('postgres', 'ALTER ROLE clerk NOBYPASSRLS');

# A condition that cannot leak is looked at before the policy, and so by the index.
my $set = "SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan; PREPARE q(bigint, int) AS SELECT id FROM letter WHERE near_dup(fp, \$1, \$2)";
foreach my $condition ('near_dup(fp, 17)', 'near_dup(17, fp, 5)', 'fp <@ hamming_ball(17, 3)', 'prepared')
{
	my $query = $condition eq 'prepared' ? 'EXECUTE q(17, 3)' : "SELECT id FROM letter WHERE $condition";
	(undef, $out, $err) = run_as('clerk', "$set; EXPLAIN (COSTS OFF) $query");
	like("$out$err", qr/Index Scan using letter_fp on letter\n  Index Cond: .*\n  Filter: \(office = CURRENT_USER\)/, "under a policy, the index is used for $condition");
}
(undef, $out, $err) = run_as('clerk', "$set; EXPLAIN (COSTS OFF) SELECT b.id FROM letter a JOIN letter b ON near_dup(a.fp, b.fp) WHERE a.id < 5");
like("$out$err", qr/Index Scan using letter_fp on letter b\n +Index Cond:/, 'and in a join');
(undef, $out, $err) = run_as('clerk', "EXPLAIN (COSTS OFF) SELECT id FROM letter ORDER BY fp <~> 17 LIMIT 5");
like("$out$err", qr/Index Scan using letter_fp on letter\n +Order By:/, 'and for the nearest');
(undef, $out) = run_as('clerk', "SET enable_seqscan = off; SELECT count(*) FROM letter WHERE near_dup(fp, x'5ec0e70000000000'::bigint, 10)");
is($out, '0', 'which shows no hidden row');
(undef, $out) = run_as('clerk', "SELECT count(*), bool_and(near_dup(fp, q, d) IS NOT NULL AND fp <@ hamming_ball(q, d) IS NOT NULL)
	FROM (VALUES (0::bigint), (-1), (9223372036854775807), (-9223372036854775808)) f(fp),
	     (VALUES (0::bigint), (-1), (9223372036854775807), (-9223372036854775808)) q(q), (VALUES (0), (-1), (64), (2147483647), (-2147483648)) d(d)");
is($out, '80|t', 'conditions declared not to leak fail on no value');
is(scalar_of($node, "SELECT string_agg(oid::regprocedure::text, ' ' ORDER BY oid::regprocedure::text COLLATE \"C\") FROM pg_proc p
	WHERE proleakproof AND EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')"),
	'_hamming_balls_near(hamming_ball,hamming_ball) _hamming_in_ball(bigint,hamming_ball) hamming(bigint,bigint) hamming_ball(bigint,integer) near_dup(bigint,bigint,integer)',
	'no other function is declared so');

log_is_clean($node, 'rights');
$node->stop;
done_testing();
