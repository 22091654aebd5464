# Dump and restore of tables whose fingerprints are a generated column, an
# expression index or kept by a trigger; and the library preloaded.
use strict;
use warnings;
use utf8;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('desk');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->start;

sub fill
{
	my ($database) = @_;
	$node->safe_psql($database, q{
		CREATE SCHEMA tools;
		CREATE EXTENSION pg_dedup SCHEMA tools;
		CREATE EXTENSION pg_dedup_papers SCHEMA public;
		CREATE TABLE petition (
			id int PRIMARY KEY, petitioner text, title text, body text,
			fp bigint GENERATED ALWAYS AS
				(tools.simhash(ARRAY[petitioner, title, body], '[2,2,null]')) STORED,
			words bigint GENERATED ALWAYS AS
				(tools.simhash(body, '{"tokens": "words", "weight": "log"}')) STORED,
			kept bigint);
		CREATE TRIGGER kept BEFORE INSERT OR UPDATE ON petition FOR EACH ROW
			EXECUTE FUNCTION tools.simhash_trigger('kept', '{"title": 2, "body": "tf"}');
		CREATE INDEX petition_body ON petition (tools.simhash(body));
		CREATE INDEX petition_near ON petition (id) WHERE tools.near_dup(body, 'x', 60);
		CREATE VIEW pairs AS SELECT a.id AS a, b.id AS b, a.fp OPERATOR(tools.<~>) b.fp AS distance
			FROM petition a JOIN petition b ON a.id < b.id AND tools.near_dup(a.fp, b.fp, 8);
		INSERT INTO petition (id, petitioner, title, body)
		SELECT n, 'p' || n % 9, 'title ' || n % 40, repeat('water off for ' || n % 50 || ' days. ', 1 + n % 5)
		FROM generate_series(1, 500) n;
		CREATE INDEX petition_spots ON petition USING gin (spotsigs(body));
		CREATE TABLE month AS SELECT n AS id, bloom_agg(body, 100, 0.01) AS seen FROM petition, generate_series(1, 2) n GROUP BY n;
		INSERT INTO petition (id) VALUES (501);
		INSERT INTO petition (id, body) VALUES (502, U&'\5C0F\533A\505C\6C34\4E09\5929');
	});
}

# Everything that must be as it was.
sub state_of
{
	my ($database) = @_;
	return $node->safe_psql($database, q{
		SELECT * FROM petition ORDER BY id;
		SELECT count(*), sum(distance) FROM pairs;
		SELECT id, seen FROM month ORDER BY id;
		SELECT bool_and(bloom_contains(seen, body)) FROM month, petition WHERE petition.id <= 500;
		SELECT indexdef FROM pg_indexes WHERE tablename = 'petition' ORDER BY 1;
		SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'petition'::regclass ORDER BY 1;
		SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attribute JOIN pg_attrdef
			ON adrelid = attrelid AND adnum = attnum WHERE attrelid = 'petition'::regclass ORDER BY 1;
		SELECT obj_description(oid, 'pg_proc') FROM pg_proc WHERE proname ~ 'simhash|near_dup' ORDER BY 1;
	});
}

$node->safe_psql('postgres', 'CREATE DATABASE original');
fill('original');
my $original = state_of('original');
like($original, qr/^502\|/m, 'the desk is filled');

my $dump = $node->basedir . '/dump';
for my $format ([ 'plain', '-Fp' ], [ 'custom', '-Fc' ], [ 'directory', '-Fd' ])
{
	my ($name, $option) = @$format;
	$node->command_ok([ 'pg_dump', $option, '-f', "$dump.$name", '-d', $node->connstr('original') ],
		"dump, $name");
	$node->safe_psql('postgres', "CREATE DATABASE restored_$name");
	my $connection = $node->connstr("restored_$name");
	if ($name eq 'plain')
	{
		$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dump.$name", '-d', $connection ],
			"restore, $name");
	}
	else
	{
		$node->command_ok([ 'pg_restore', '-j', '2', '--exit-on-error', '-d', $connection, "$dump.$name" ],
			"restore, $name");
	}
	is(state_of("restored_$name"), $original, "everything is as it was, $name");
	is( $node->safe_psql("restored_$name", q{
			SET enable_seqscan = off;
			SELECT count(*) FROM petition p JOIN petition q
				ON tools.simhash(p.body) = tools.simhash(q.body) WHERE p.id = 7 AND q.id = 7}),
		'1', "the expression index works, $name");
	is( $node->safe_psql("restored_$name", q{
			UPDATE petition SET body = body || ' more' WHERE id < 100;
			SELECT bool_and(kept = tools.simhash(p, '{"title": 2, "body": "tf"}')
				AND fp = tools.simhash(ARRAY[petitioner, title, body], '[2,2,null]')) FROM petition p WHERE id < 100}),
		't', "columns and trigger go on, $name");
}

# Data alone: fingerprints are computed again while rows arrive.
$node->command_ok([ 'pg_dump', '--data-only', '--inserts', '--disable-triggers', '-f', "$dump.data",
	'-d', $node->connstr('original') ], 'dump of the data');
$node->safe_psql('restored_plain', 'TRUNCATE petition, month');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dump.data",
	'-d', $node->connstr('restored_plain') ], 'restore of the data');
is(state_of('restored_plain'), $original, 'everything is as it was, data alone');

# With preloading the answers are the same as without.
my $first = q{SELECT tools.simhash(U&'\5C0F\533A\505C\6C34\4E09\5929')};
my $without = $node->safe_psql('original', $first);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_dedup'");
$node->restart;
is($node->safe_psql('original', $first), $without, 'first call of a fresh connection, preloaded');
is($node->safe_psql('original', 'SHOW shared_preload_libraries'), 'pg_dedup', 'it is preloaded');
is(state_of('original'), $original, 'everything is as it was, preloaded');

# A crash takes down the connections, not the preloaded library.
$node->stop('immediate');
$node->start;
is($node->safe_psql('original', $first), $without, 'first call after a crash, preloaded');

$node->stop;
done_testing();
