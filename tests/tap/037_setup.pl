# Protects a table's settings outside of one session: through dump and restore,
# for ordinary roles, under row-level security, beside writers, on a standby.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', standby => 'logical');
my $base = $node->basedir;
# Rows 2k and 2k + 1 have one text; those of other rows have nothing to do with it.
my $text = "(SELECT string_agg('w' || (hashint4(n / 2 * 100 + k) & 4095), ' ') FROM generate_series(1, 25) k)";
my $search = "SELECT count(*) FROM dedup_find('busy', (SELECT body FROM busy WHERE id = 3));";
# What settings lead to, without a word on where things are.
my $asked = q{SELECT s.version, s.options, s.columns, s.recipes, s.fp, s.distance, s.similarity, s.n FROM dedup_settings s WHERE s.tbl = 'app.ticket'::regclass ORDER BY s.version;
	SELECT count(*) FROM app.ticket t, dedup_find(t) f WHERE t.id <= 20;
	SELECT count(*) FROM dedup_find('app.renamed', (SELECT content FROM app.renamed WHERE id = 3));
	SELECT id FROM dedup_find('app.moved', (SELECT body FROM app.moved WHERE id = 3)) ORDER BY id;
	SELECT * FROM dedup_setup('app.ticket', dry_run => true);
	SELECT * FROM dedup_setup('app.renamed', dry_run => true);};

sub populate
{
	my ($database, $schema) = @_;
	$node->safe_psql($database, "CREATE SCHEMA IF NOT EXISTS $schema; CREATE EXTENSION IF NOT EXISTS pg_dedup SCHEMA $schema; CREATE SCHEMA app");
	$node->safe_psql($database, "SET search_path = $schema; SET client_min_messages = warning;
		CREATE TABLE app.ticket (id bigint PRIMARY KEY, subject text, body text);
		INSERT INTO app.ticket SELECT n, 'Lamp', $text FROM generate_series(1, 200) n;
		SELECT dedup_setup('app.ticket', '{\"columns\": {\"subject\": 1, \"body\": null}}');
		SELECT dedup_setup('app.ticket', '{\"distance\": 8}');
		CREATE TABLE app.renamed (gone int, id int PRIMARY KEY, away text, body text);
		ALTER TABLE app.renamed DROP gone;
		INSERT INTO app.renamed SELECT id, subject, body FROM app.ticket;
		SELECT dedup_setup('app.renamed', '{\"columns\": \"body\"}');
		ALTER TABLE app.renamed DROP away;
		SELECT dedup_setup('app.renamed', '{\"id\": \"id\"}');
		ALTER TABLE app.renamed RENAME body TO content;
		CREATE TABLE app.moved (gone int, old int, body text);
		ALTER TABLE app.moved DROP gone;
		INSERT INTO app.moved SELECT id, body FROM app.ticket;
		SELECT dedup_setup('app.moved', '{\"id\": \"old\", \"distance\": 3}');
		ALTER TABLE app.moved RENAME old TO id;
		ALTER TABLE app.moved RENAME fp TO print;
		ALTER TABLE app.moved ADD fp text, ADD old int;
		SELECT dedup_setup('app.moved');
		ALTER TABLE app.moved RENAME print TO mark;
		CREATE TABLE app.dropped (id int PRIMARY KEY, body text);
		SELECT dedup_setup('app.dropped');
		DROP TABLE app.dropped;");
	return;
}

sub state_of
{
	my ($database, $schema) = @_;
	return $node->safe_psql($database, "SET search_path = $schema; SET client_min_messages = warning; $asked");
}

# What a session that goes on answers to the search.
sub answer
{
	my ($session) = @_;
	${ $session->{out} } = '';
	${ $session->{in} } .= "$search\n";
	$session->{run}->pump until ${ $session->{out} } =~ /^(\d+)\n/;
	return $1;
}

for my $schema ('public', 'aaa', 'zzz')
{
	$node->safe_psql('postgres', "CREATE DATABASE in_$schema");
	populate("in_$schema", $schema);
	my $original = state_of("in_$schema", $schema);
	like($original, qr/^1\|.*\n2\|\{"columns".*\|8\|[^\n]*\n19\n[1-9]\d*\n2\n3\z/, "$schema: settings are in use, and there is nothing to do");
	my @connection = ('-d', $node->connstr("in_$schema"));
	# A temporary table of a session at work is not dumped, nor are its settings: no restore could load them.
	my $temporary = session($node, @connection);
	${ $temporary->{in} } .= "CREATE TEMPORARY TABLE held (id int PRIMARY KEY, body text); SET client_min_messages = warning; SELECT count(*) FROM $schema.dedup_setup('held');\n";
	$temporary->{run}->pump until ${ $temporary->{out} } =~ /^\d+\n/;
	$node->command_ok([ 'pg_dump', '-Fp', '-f', "$base/$schema.sql", @connection ], "$schema: dump");
	$node->command_ok([ 'pg_dump', '-Fd', '-j', '2', '-f', "$base/$schema.dir", @connection ], "$schema: dump of a directory");
	finish_session($temporary);
	$node->safe_psql('postgres', "CREATE DATABASE in_${schema}_$_") for ('psql', 'jobs', 'clean');
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$base/$schema.sql", '-d', $node->connstr("in_${schema}_psql") ], "$schema: psql");
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-j', '4', '-d', $node->connstr("in_${schema}_jobs"), "$base/$schema.dir" ], "$schema: pg_restore -j4");
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr("in_${schema}_clean"), "$base/$schema.dir" ], "$schema: pg_restore");
	$node->command_ok([ 'pg_restore', '--exit-on-error', '--clean', '--if-exists', '-d', $node->connstr("in_${schema}_clean"), "$base/$schema.dir" ], "$schema: --clean");
	is(state_of("in_${schema}_$_", $schema), $original, "$schema, $_: everything is as it was") for ('psql', 'jobs', 'clean');
	is($node->safe_psql("in_${schema}_psql", "SELECT count(*) FROM $schema.dedup_settings WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = tbl)"), 0,
		"$schema: settings of dropped tables are not dumped");
}

# One tenant must not cost the others their settings: names that need quotes, a table that cannot be restored, a row of
# what is no table. What is not there after a restore, or was left out of the dump, is left out, with a warning.
$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE DATABASE tenants; CREATE DATABASE tenants_again; CREATE DATABASE tenants_few');
$node->safe_psql('tenants', "SET client_min_messages = warning; CREATE EXTENSION pg_dedup; CREATE SCHEMA app; CREATE TABLE app.ticket (id bigint PRIMARY KEY, body text);
	INSERT INTO app.ticket SELECT n, $text FROM generate_series(1, 100) n; SELECT dedup_setup('app.ticket'); CREATE SCHEMA m AUTHORIZATION mallory; CREATE SCHEMA aside;
	CREATE TABLE aside.note (id int PRIMARY KEY, body text); SELECT dedup_setup('aside.note')");
my @mallory = (extra_params => [ '-U', 'mallory' ]);
my $hostile = q{m."a
\copy . ''$$ \\ %I {0}"};
$node->safe_psql('tenants', qq{SET client_min_messages = warning; CREATE TABLE $hostile (id int PRIMARY KEY, body text); SELECT dedup_setup('} . ($hostile =~ s/'/''/gr) . qq{');
	CREATE FUNCTION m.f(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN \$1; END';
	CREATE TABLE m.broken (id int PRIMARY KEY, body text, more text GENERATED ALWAYS AS (m.f(body)) STORED); SELECT dedup_setup('m.broken', '{"columns": "body"}'); ALTER FUNCTION m.f(text) VOLATILE}, @mallory);
for my $forged ('m.broken_pkey', 'app.ticket', 'm.broken')
{
	my (undef, undef, $refused) = $node->psql('tenants', "INSERT INTO dedup_settings (tbl, version, options, columns, recipes, fp, distance, similarity, n) VALUES ('$forged', 9, '{}', '{}', '[]', 'fp', 3, 0, 2)", @mallory);
	like($refused, qr/permission denied/, "no row by hand, of $forged");
}
my $held = sub { $node->safe_psql(shift, "SELECT replace(tbl::text, E'\\n', ' '), version FROM dedup_settings ORDER BY 1; SELECT count(*) FROM app.ticket t, dedup_find(t) f") };
my $whole = $held->('tenants');
is($whole =~ tr/\n//, 4, 'four tables have settings');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$base/tenants.dump", '-d', $node->connstr('tenants') ], 'dump of tenants');
my (undef, $warned) = run_command([ 'pg_restore', '-d', $node->connstr('tenants_again'), "$base/tenants.dump" ]);
like($warned, qr/generation expression is not immutable/, 'a table that is not restored');
unlike($warned, qr/dedup_settings/, '… does not keep settings from it');
is($held->('tenants_again'), $whole =~ s/^m\.broken\|1\n//mr, '… and costs nobody else theirs');
$node->command_ok([ 'pg_dump', '-Fc', '-N', 'm', '-T', 'aside.note', '-f', "$base/few.dump", '-d', $node->connstr('tenants') ], 'dump without some');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('tenants_few'), "$base/few.dump" ], '… is restored');
is($held->('tenants_few'), $whole =~ s/^(m\.|aside).*\n//mgr, '… with the settings of what is there');

# A subscriber receives settings, those of tables that it has.
$node->safe_psql('tenants_few', 'DELETE FROM dedup_settings');
$node->safe_psql('tenants', 'CREATE PUBLICATION p FOR TABLE dedup_settings');
my $connection = $node->connstr('tenants') =~ s/'/''/gr;
$node->safe_psql('tenants', q{SELECT pg_create_logical_replication_slot('p', 'pgoutput')});
$node->safe_psql('tenants_few', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p WITH (create_slot = false, slot_name = 'p')");
ok($node->poll_query_until('tenants_few', 'SELECT count(*) = 1 FROM dedup_settings'), 'a subscriber copies settings');
$node->safe_psql('tenants', q{SET client_min_messages = warning; SELECT dedup_setup('app.ticket', '{"distance": 7}'); SELECT dedup_setup('aside.note', '{"distance": 7}')});
ok($node->poll_query_until('tenants_few', 'SELECT max(version) = 2 FROM dedup_settings'), 'and receives new ones');
$node->safe_psql('tenants', q{SELECT dedup_setup('app.ticket', '{"drop": true}')});
ok($node->poll_query_until('tenants_few', 'SELECT count(*) = 0 FROM dedup_settings'), 'and loses what is dropped');
$node->safe_psql('tenants_few', 'ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s');

# An ordinary role sets up its own table, dumps it and restores it.
$node->safe_psql('postgres', 'CREATE ROLE clerk LOGIN; CREATE ROLE reader LOGIN; CREATE DATABASE clerks OWNER clerk; CREATE DATABASE restored OWNER clerk');
$node->safe_psql($_, 'CREATE EXTENSION pg_dedup') for ('clerks', 'restored');
my @clerk = (extra_params => [ '-U', 'clerk' ]);
$node->safe_psql('clerks', "SET client_min_messages = warning; CREATE SCHEMA app; CREATE TABLE app.ticket (id bigint PRIMARY KEY, body text);
	INSERT INTO app.ticket SELECT n, $text FROM generate_series(1, 100) n; SELECT dedup_setup('app.ticket')", @clerk);
$node->command_ok([ 'pg_dump', '-U', 'clerk', '-Fc', '-f', "$base/clerk.dump", '-d', $node->connstr('clerks') ], 'an ordinary role dumps its settings');
$node->command_ok([ 'pg_restore', '-U', 'clerk', '--exit-on-error', '--no-owner', '--no-comments', '-d', $node->connstr('restored'), "$base/clerk.dump" ], '… and restores them');
is($node->safe_psql('restored', "SELECT count(*) FROM app.ticket t, dedup_find(t) f", @clerk), 98, '… and they are in use');

# Row-level security and privileges are those of a SELECT by the caller.
$node->safe_psql('clerks', "GRANT USAGE ON SCHEMA app TO reader; GRANT SELECT ON app.ticket TO reader;
	ALTER TABLE app.ticket ENABLE ROW LEVEL SECURITY; CREATE POLICY even ON app.ticket TO reader USING (id % 2 = 0);", @clerk);
my $find = "SELECT string_agg(id::text, ',' ORDER BY id) FROM dedup_find('app.ticket', $text) f";
(my $three = $find) =~ s/\bn\b/3/g;
is($node->safe_psql('clerks', $three, @clerk), '2,3', 'the owner finds both rows');
is($node->safe_psql('clerks', $three, extra_params => [ '-U', 'reader' ]), '2', 'a reader finds those that a policy shows');
my ($ret, undef, $err) = $node->psql('clerks', "SELECT dedup_setup('app.ticket')", extra_params => [ '-U', 'reader' ]);
like($err, qr/must be owner of table app\.ticket/, 'a reader sets nothing up');

# Beside writers: nothing is lost, every row has a fingerprint, and another session takes the new settings at once.
$node->safe_psql('postgres', "SET client_min_messages = warning; CREATE TABLE busy (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text);
	INSERT INTO busy (body) SELECT $text FROM generate_series(1, 500) n; SELECT dedup_setup('busy', '{\"distance\": 3, \"similarity\": 0, \"details\": []}')");
my $watcher = session($node);
is(answer($watcher), 2, 'a session has read the settings');
my $file = PostgreSQL::Test::Utils::tempdir . '/insert.sql';
append_to_file($file, "\\set i random(1, 100000)\nINSERT INTO busy (body) VALUES ('Nobody answers the telephone of office ' || :i || ' since ' || md5(:i::text));\n");
my ($out, $errors) = ('', '');
my $writers = IPC::Run::start([ 'pgbench', '-n', '-c', 3, '-j', 1, '-T', 600, '-f', $file, $node->connstr('postgres') ], '>', \$out, '2>', \$errors);
wait_until($node, 'SELECT count(*) > 700 FROM busy');
my $setups = 0;
for my $options ('{"recipe": {"tokens": "chars"}}', '{"recipe": {"tokens": "words"}}', '{"distance": 64}')
{
	$node->safe_psql('postgres', "SET client_min_messages = warning; SELECT dedup_setup('busy', '$options')");
	$setups++;
}
my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM busy');
wait_until($node, "SELECT count(*) > $rows FROM busy");
IPC::Run::signal($writers, 'INT');
eval { IPC::Run::finish($writers) };
unlike($errors, qr/ERROR|aborted|FATAL/, "no writer failed beside $setups calls");
is($node->safe_psql('postgres', q{SELECT count(*) FROM busy WHERE fp IS DISTINCT FROM simhash(body, '{"tokens": "words"}')}), 0, 'every row has its fingerprint');
is($node->safe_psql('postgres', "SELECT fp FROM busy WHERE fp IS NULL LIMIT 1"), '', 'none is missing');
cmp_ok(answer($watcher), '>', 500, 'the session has taken the new distance');
finish_session($watcher);

# A standby reads the settings, and hears of new ones.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is($standby->safe_psql('in_public', $asked), $node->safe_psql('in_public', $asked), 'a standby finds what the primary finds');
my $session = session($standby);
cmp_ok(answer($session), '>', 500, 'a session on the standby has read the settings');
$node->safe_psql('postgres', "SET client_min_messages = warning; SELECT dedup_setup('busy', '{\"distance\": 3}')");
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is(answer($session), 2, 'and takes the new ones');
finish_session($session);
log_is_clean($node, 'settings');
done_testing();
