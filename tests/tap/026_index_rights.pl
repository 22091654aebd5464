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

log_is_clean($node, 'rights');
$node->stop;
done_testing();
