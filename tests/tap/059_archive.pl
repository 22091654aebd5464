# Protects what dedup_clean removes: it is whole at one place, the table or the archive, wherever the server is killed; it comes
# back as it was, whatever the type of a column, out of a dump too.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

test_seed();
my $node = new_node('archive', conf => "restart_after_crash = off\n");
my $text = "'lamp ' || md5(n::text) || ' ' || md5((n + 5000)::text)";

# A column of every type that PostgreSQL comes with and that has values, and of arrays of them.
my $values = q{
	CREATE FUNCTION value_of(type oid) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE tried text; BEGIN
		FOREACH tried IN ARRAY ARRAY['a''b"c', 'a ''b":1B', '0.30000000000000004', '2024-02-29 23:59:59.123456+05:45', '-1 year 2 days 3.5 seconds', 'postgres=r/postgres', '(1.1,0.1)', '((1,0.1),(0.2,3))',
			'<(1,2),0.1>', '{1,2,3}', '[(1,0.1),(2,3)]', '10.1.2.3', '10.1.0.0/16', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', '{"a": [1, null, " x"]}', '$.a[*]',
			'550e8400-e29b-41d4-a716-446655440000', '0/16B3748', '(0,1)', '10:20:10,15', 'pg_class', 'int4', 'english', 'simple', 'pg_catalog', 'postgres', '[1,2)', '[2024-01-01,2024-02-01)',
			'{[1,2),[5,9)}', '{[2024-01-01,2024-02-01)}', 'lower(text)', 'now', '+(integer,integer)', '=', 't', '1'] LOOP
			BEGIN
				EXECUTE format('SELECT %L::%s::text', tried, format_type(type, NULL)) INTO tried;
				RETURN tried;
			EXCEPTION WHEN OTHERS THEN NULL; END;
		END LOOP;
		RETURN NULL;
	END $$;
	CREATE TABLE kind AS SELECT format('%s_%s', t.typname, a.n) AS name, format_type(CASE a.n WHEN 1 THEN t.typarray ELSE t.oid END, NULL) AS type,
			CASE a.n WHEN 1 THEN (SELECT (array_agg(v) || NULL)::text FROM value_of(t.oid) v) ELSE value_of(t.oid) END AS value
		FROM pg_type t, generate_series(0, 1) a(n)
		WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'r', 'm') AND t.typname !~ '^_|^pg_|^refcursor' AND t.typelem = 0 AND t.typarray <> 0
			AND value_of(t.oid) IS NOT NULL};
my $made = q{
	DO $$ DECLARE columns text; names text; given text; BEGIN
		SELECT string_agg(format('%I %s', name, type), ', ' ORDER BY name), string_agg(quote_ident(name), ', ' ORDER BY name), string_agg(quote_literal(value), ', ' ORDER BY name)
			INTO columns, names, given FROM kind;
		EXECUTE format('CREATE TABLE doc (id int PRIMARY KEY, body text, %s)', columns);
		EXECUTE format('CREATE TABLE note (id int PRIMARY KEY, doc int UNIQUE REFERENCES doc ON DELETE CASCADE, %s)', columns);
		EXECUTE format('INSERT INTO doc (id, body, %s) SELECT i, TEXT, %s FROM generate_series(1, 20) i, LATERAL (VALUES (i %% 10)) v(n)', names, given);
		EXECUTE format('INSERT INTO note (id, doc, %s) SELECT n, n, %s FROM generate_series(1, 20) n', names, given);
	END $$} =~ s/TEXT/$text =~ s{'}{''}gr/er;
$node->safe_psql('postgres', $values);
$node->safe_psql('postgres', $made);
cmp_ok(scalar_of($node, 'SELECT count(*) FROM kind'), '>', 100, 'types are tried');
$node->safe_psql('postgres', "SELECT dedup_setup('doc', '{\"columns\": \"body\", \"recipe\": {}, \"similarity\": 0.9, \"n\": 2, \"details\": [], \"method\": \"text\"}')");
my $all = q{SELECT md5(string_agg(d::text, ',' ORDER BY id)) FROM doc d; SELECT md5(string_agg(n::text, ',' ORDER BY id)) FROM note n};
my $before = $node->safe_psql('postgres', $all);
is($node->safe_psql('postgres', "SELECT count(*) FROM dedup_clean('doc', false, '{\"references\": \"repoint\"}')"), '10', 'rows go');
is(scalar_of($node, q{SELECT format('%s %s', count(*), (SELECT count(*) FROM doc_archive WHERE dedup_children @> '[{"removed": true}]')) FROM note}), '10 10', 'with rows that pointed at them');

# Out of a dump.
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-f', $dump, 'postgres' ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-d', 'restored', '-f', $dump ], 'restore');
foreach my $database ('postgres', 'restored')
{
	is($node->safe_psql($database, q{SET "DateStyle" = 'German'; SET "IntervalStyle" = 'iso_8601'; SET extra_float_digits = -5; SET client_min_messages = error; SELECT dedup_undo('doc', 1)}), '10', "$database: rows come back");
	is($node->safe_psql($database, $all), $before, "$database: as they were");
	is($node->safe_psql($database, 'SELECT count(*) FROM doc_archive'), '0', "$database: nothing is left");
}
is($node->safe_psql('restored', "SET client_min_messages = error; SELECT count(*) FROM dedup_clean('doc', false, '{\"references\": \"repoint\"}'); SELECT max(dedup_run) FROM doc_archive"), "10\n2", 'runs go on counting');

# Killed anywhere: each row is in the table or in the archive, and in one of them.
my $rows = rows(600);
$node->safe_psql('postgres', "CREATE TABLE big (id int PRIMARY KEY, body text); INSERT INTO big SELECT i, $text FROM generate_series(1, $rows) i, LATERAL (VALUES (i / 2)) v(n);
	CREATE TABLE part (id int PRIMARY KEY, big int REFERENCES big ON DELETE CASCADE); INSERT INTO part SELECT n, n FROM generate_series(1, $rows) n; CREATE INDEX ON part (big);
	SELECT dedup_setup('big', '{\"columns\": \"body\", \"recipe\": {}, \"distance\": 3, \"similarity\": 0, \"n\": 2, \"details\": []}')");
my $work = "DO \$\$ DECLARE run bigint; BEGIN FOR i IN 1 .. 100000 LOOP PERFORM count(*) FROM dedup_clean('big', false, '{\"references\": \"repoint\"}'); COMMIT;
	SELECT max(dedup_run) INTO run FROM big_archive; PERFORM dedup_undo('big', run); COMMIT; END LOOP; END \$\$;\n";
my %seen;
foreach my $round (1 .. 6)
{
	my $session = session($node);
	${ $session->{in} } .= "SET client_min_messages = error;\n$work";
	IPC::Run::pump_nb($session->{run});
	usleep(200_000 + int rand 1_500_000);
	$node->stop('immediate');
	eval { IPC::Run::kill_kill($session->{run}, grace => 1) };
	$node->start;
	$node->safe_psql('postgres', 'CREATE TABLE IF NOT EXISTS big_archive (id int)');
	my $archived = scalar_of($node, 'SELECT count(*) FROM big_archive');
	$seen{ $archived > 0 ? 'removed' : 'there' }++;
	is(scalar_of($node, 'SELECT format(\'%s %s\', count(*), count(DISTINCT id)) FROM (SELECT id FROM big UNION ALL SELECT id FROM big_archive) r'), "$rows $rows", "round $round: each row is there once");
	is(scalar_of($node, 'SELECT format(\'%s %s\', count(*), count(*) FILTER (WHERE p.big <> p.id)) FROM part p'), "$rows $archived", "round $round: so are those that point at them");
	$node->safe_psql('postgres', 'DROP TABLE big_archive') unless $archived;
}
note join ', ', map { "$_: $seen{$_}" } sort keys %seen;
log_is_clean($node, 'archive');
done_testing();
