# Protects superusers from the owner of the extension's schema, which in a database of PostgreSQL 15 is the owner of the
# database: it may rename the schema and put another one in its place while a statement waits for a lock.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('schema_owner');
$node->safe_psql(
	'postgres', <<'SQL');
CREATE ROLE owner LOGIN;
CREATE ROLE writer LOGIN;
ALTER SCHEMA public OWNER TO owner;
GRANT CREATE ON DATABASE postgres TO owner;
GRANT USAGE ON FOREIGN DATA WRAPPER _dedup_versions TO owner;
GRANT SELECT, INSERT, UPDATE ON _dedup_corpus, _dedup_dictionary TO owner;
GRANT SELECT ON dedup_settings TO owner;
CREATE SCHEMA data;
CREATE TABLE data.caught (what text, who name DEFAULT current_user);
GRANT USAGE ON SCHEMA data TO owner;
GRANT INSERT ON data.caught TO PUBLIC;
CREATE TABLE data.note (id bigint PRIMARY KEY, body text);
SELECT dedup_setup('data.note', '{"columns": {"body": null}, "distance": 3}');
CREATE TRIGGER guard AFTER INSERT ON data.note FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
SELECT dedup_corpus_build('words', 'SELECT ''lamp street'' UNION ALL SELECT ''lamp road''');
SQL

# What the owner puts in the schema's place.
$node->safe_psql(
	'postgres', <<'SQL');
SET ROLE owner;
CREATE SCHEMA planted;
GRANT USAGE ON SCHEMA planted TO PUBLIC;
CREATE FUNCTION planted.ran(what text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN INSERT INTO data.caught VALUES (what); RETURN true; END';
CREATE FUNCTION planted.near_dup(a bigint, b bigint, c integer) RETURNS boolean LANGUAGE sql BEGIN ATOMIC SELECT planted.ran('near_dup'); END;
CREATE FUNCTION planted.hamming(a bigint, b bigint) RETURNS integer LANGUAGE sql BEGIN ATOMIC SELECT CASE WHEN planted.ran('hamming') THEN 0 END; END;
CREATE OPERATOR planted.<~> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = planted.hamming);
CREATE VIEW planted._dedup_corpus AS SELECT t.* FROM public._dedup_corpus t WHERE planted.ran('corpus');
CREATE VIEW planted.dedup_settings AS SELECT t.* FROM public.dedup_settings t WHERE planted.ran('settings');
CREATE FUNCTION planted._dedup_version_belongs(a regclass, b oid) RETURNS boolean LANGUAGE sql BEGIN ATOMIC SELECT planted.ran('belongs'); END;
CREATE FUNCTION planted._dedup_carrier(a text, b text, c integer) RETURNS TABLE (server oid, mapping oid, content text)
    LANGUAGE sql BEGIN ATOMIC SELECT 1::oid, 1::oid, NULL::text WHERE planted.ran('carrier'); END;
SQL
my $planted = 'ALTER SCHEMA public RENAME TO before; ALTER SCHEMA planted RENAME TO public';

sub caught { return scalar_of($node, "SELECT coalesce(string_agg(what || ' as ' || who, ', '), 'nothing') FROM data.caught WHERE who <> 'owner'") }

sub put_back
{
	$node->safe_psql('postgres', 'ALTER SCHEMA public RENAME TO planted; ALTER SCHEMA before RENAME TO public')
	  if scalar_of($node, "SELECT count(*) FROM pg_namespace WHERE nspname = 'before'");
}

sub waits { my ($session) = @_; return wait_until($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $session->{pid} AND NOT granted)") }

sub does
{
	my ($session, @statements) = @_;
	${ $session->{out} } = '';
	${ $session->{in} } .= join ";\n", '\echo sent', @statements, '';
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /sent/;
}

# A reader of a corpus waits for a lock of its table.
my ($owner, $other) = map { session($node, '-U', $_) } 'owner', 'writer';
does($owner, 'BEGIN', 'LOCK TABLE public._dedup_corpus IN ACCESS EXCLUSIVE MODE', $planted, q(\echo planted));
IPC::Run::pump($owner->{run}) until ${ $owner->{out} } =~ /planted/;
does($other, q(SELECT public.simhash('street road', '{"corpus": "words@1", "weight": "tfidf"}') IS NOT NULL));
ok(waits($other), 'who reads a corpus waits');
does($owner, 'COMMIT');
finish_session($owner);
like(finish_session($other), qr/^t$/m, 'and then reads it');
is(caught(), 'nothing', 'nothing of the owner of the schema ran with the rights of the owner of the extension');
put_back();

# A version is written, and the server that carries it waited for.
$node->safe_psql('postgres', 'TRUNCATE data.caught');
my $server = scalar_of($node, "SELECT _dedup_carrier_name('dictionary', 'own', 1)");
my ($first, $second, $third) = map { session($node, '-U', 'owner') } 1 .. 3;
does($first, 'BEGIN', "CREATE SERVER $server FOREIGN DATA WRAPPER _dedup_versions", q(\echo made));
IPC::Run::pump($first->{run}) until ${ $first->{out} } =~ /made/;
does($second, "INSERT INTO public._dedup_dictionary (name, version, words, word_count, stop_words, stop_count) VALUES ('own', 1, 'lamp 3 n', 1, '', 0)");
ok(waits($second), 'who writes a version waits');
does($third, 'BEGIN', $planted, 'COMMIT', q(\echo planted));
ok(wait_until($node, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'before') OR EXISTS (SELECT FROM pg_locks WHERE pid = $third->{pid} AND NOT granted)"),
	'meanwhile the schema is renamed, or waits to be');
does($first, 'ROLLBACK');
finish_session($_) for $first, $second, $third;
is(caught(), 'nothing', 'nothing of the owner of the schema ran as a trigger of the extension');
put_back();
is(scalar_of($node, "SELECT count(*) FROM public._dedup_dictionary WHERE name = 'own'"), '1', 'the version is stored');

# A superuser writes to a guarded table whose settings have to be read, and waits for a lock of their table; then searches that
# table, and waits for a lock of it.
foreach my $case (
	[ 'public.dedup_settings', q(INSERT INTO data.note VALUES (1, 'A street lamp is out since Monday')), qr/^sent;$/ ],
	[ 'data.note', q(SELECT id FROM public.dedup_find('data.note', 'A street lamp is out since Monday')), qr/^1$/m ])
{
	my ($locked, $statement, $answer) = @$case;
	$node->safe_psql('postgres', 'TRUNCATE data.caught');
	my ($locker, $renamer, $super) = (session($node), session($node, '-U', 'owner'), session($node));
	does($locker, 'BEGIN', "LOCK TABLE $locked IN ACCESS EXCLUSIVE MODE", q(\echo locked));
	IPC::Run::pump($locker->{run}) until ${ $locker->{out} } =~ /locked/;
	does($super, $statement);
	ok(waits($super), "a superuser waits for $locked");
	does($renamer, 'BEGIN', $planted, 'COMMIT', q(\echo planted));
	IPC::Run::pump($renamer->{run}) until ${ $renamer->{out} } =~ /planted/;
	does($locker, 'COMMIT');
	finish_session($locker);
	like(finish_session($super), $answer, 'and is answered');
	is(caught(), 'nothing', 'nothing of the owner of the schema ran as the superuser');
	finish_session($renamer);
	put_back();
}

# Two databases made of one template have its secret and tables of its numbers.
$node->safe_psql('postgres', 'CREATE DATABASE template_0');
$node->safe_psql('template_0', <<'SQL');
CREATE EXTENSION pg_dedup;
CREATE TABLE doc (fp bigint);
CREATE TRIGGER guard BEFORE INSERT ON doc FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'action=skip', 'index=none');
SQL
$node->safe_psql('postgres', "CREATE DATABASE tenant_$_ TEMPLATE template_0") for 1, 2;
my @published = map { $node->safe_psql("tenant_$_", <<'SQL') } 1, 2;
BEGIN;
INSERT INTO doc VALUES (4711);
SELECT classid::bigint << 32 | objid::bigint FROM pg_locks WHERE locktype = 'userlock' AND objsubid < 0 AND pid = pg_backend_pid();
SQL
ok($published[0] =~ /^-?\d+$/ && $published[0] ne $published[1], 'in each the same fingerprint is hidden by another key');

done_testing();
