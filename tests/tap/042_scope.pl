# Protects indexes with scopes: a search in one of a thousand gives what a
# sequential scan gives, by index, bitmap and distance; a constraint holds within
# each scope while many write; dump, crash and damage leave no wrong answer.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('scope', no_checksums => 1);
my $n = rows(30_000);

# A thousand scopes; a tenth of the rows are of one, some of none, some without a fingerprint.
$node->safe_psql('postgres', "CREATE TABLE t (id bigint, tenant text, fp bigint);
	INSERT INTO t SELECT i, CASE WHEN i % 10 = 0 THEN 'large' WHEN i % 97 = 0 THEN NULL ELSE 't' || i % 1000 END,
		CASE WHEN i % 89 = 0 THEN NULL ELSE test.fp('hot', i / 1000 + i % 3) END FROM generate_series(1, $n) i;
	CREATE INDEX t_idx ON t USING banding (tenant, fp); ANALYZE t");
$node->safe_psql('postgres', <<'SQL');
-- What is wrong with the answers within a scope: nothing, or a line each.
CREATE FUNCTION test.scopes(tbl text, scopes text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE scope text; q bigint; r integer; mode text; plan text; line text; condition text; search text; truth text; answer text;
BEGIN
	FOREACH scope IN ARRAY scopes LOOP
		condition := coalesce(format('tenant = %L', scope), 'tenant IS NULL');
		EXECUTE format('SELECT fp FROM %s WHERE %s AND fp IS NOT NULL ORDER BY id LIMIT 1', tbl, condition) INTO q;
		CONTINUE WHEN q IS NULL;
		FOREACH r IN ARRAY '{0,3,6,10,20,64}'::integer[] LOOP
			search := format('SELECT count(*), sum(id) FROM %s WHERE %s AND near_dup(fp, %s, %s)', tbl, condition, q # 1, r);
			FOREACH mode IN ARRAY '{Seq,Index,Bitmap Index}'::text[] LOOP
				PERFORM set_config('enable_seqscan', (mode = 'Seq')::text, true);
				PERFORM set_config('enable_indexscan', (mode = 'Index')::text, true);
				PERFORM set_config('enable_bitmapscan', (mode = 'Bitmap Index')::text, true);
				plan := '';
				FOR line IN EXECUTE 'EXPLAIN ' || search LOOP plan := plan || line; END LOOP;
				IF plan !~ (mode || ' Scan') THEN RETURN NEXT format('no %s scan: %s', mode, plan); END IF;
				EXECUTE format('SELECT s::text FROM (%s) s', search) INTO answer;
				IF mode = 'Seq' THEN truth := answer; END IF;
				IF answer <> truth THEN RETURN NEXT format('%s: %s scan gives %s, not %s', search, mode, answer, truth); END IF;
			END LOOP;
		END LOOP;
		search := format('SELECT array_agg(d) FROM (SELECT hamming(fp, %s) AS d FROM %s WHERE %s ORDER BY fp <~> %1$s LIMIT 40) s', q # 6, tbl, condition);
		PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'on', true);
		EXECUTE search INTO truth;
		PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
		EXECUTE search INTO answer;
		IF answer IS DISTINCT FROM truth THEN RETURN NEXT format('%s: %s, not %s', search, answer, truth); END IF;
		PERFORM set_config('enable_sort', 'on', true);
	END LOOP;
END $$;
SQL
my $scopes = "ARRAY['large', 't1', 't17', 't333', 't998', 't999', NULL, 'nobody']";
sub scopes_agree
{
	my ($table, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($node->safe_psql('postgres', "SELECT * FROM test.scopes('$table', $scopes)"), '', "$name: the answers");
}
scopes_agree('t', 'built');
check_is_clean($node, 't_idx', 'built');

# Row by row, with deletes and updates, then VACUUM.
$node->safe_psql('postgres', "CREATE TABLE s (LIKE t); CREATE INDEX s_idx ON s USING banding (tenant, fp);
	INSERT INTO s SELECT * FROM t ORDER BY hashint8(id);
	DELETE FROM s WHERE id % 7 = 0; UPDATE s SET tenant = 't17' WHERE id % 501 = 0; UPDATE s SET fp = fp # 2 WHERE id % 11 = 0");
scopes_agree('s', 'inserted');
$node->safe_psql('postgres', 'VACUUM s');
scopes_agree('s', 'vacuumed');
check_is_clean($node, 's_idx', 'vacuumed');
is(scalar_of($node, "SELECT rows + (SELECT count(*) FROM s WHERE fp IS NULL) = (SELECT count(*) FROM s) FROM banding_stats('s_idx')"),
	't', 'VACUUM has removed what is dead');
$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY s_idx');
scopes_agree('s', 'rebuilt concurrently');

# A crash in the middle of it.
$node->safe_psql('postgres', "CHECKPOINT; INSERT INTO s SELECT id + 1000000, tenant, fp FROM t WHERE id % 3 = 0");
$node->stop('immediate');
$node->start;
scopes_agree('s', 'after a crash');
check_is_clean($node, 's_idx', 'after a crash');

# Several writers of near-duplicates in few scopes: none gets in where one is, all others do.
$node->safe_psql('postgres', 'CREATE TABLE x (id bigserial, tenant integer, fp bigint, EXCLUDE USING banding (tenant WITH =, hamming_ball(fp, 5) WITH =~))');
my $script = PostgreSQL::Test::Utils::tempdir . '/insert.sql';
append_to_file($script, "\\set tenant random(1, 5)\n\\set i random(1, 20)\n\\set bit random(0, 63)\n"
	. "INSERT INTO x (tenant, fp) VALUES (:tenant, test.random_fp(:i) # (1::bigint << :bit)) ON CONFLICT DO NOTHING;\n");
$node->command_ok([ 'pgbench', '-n', '-c', 6, '-j', 1, '-t', 400, '-f', $script, $node->connstr('postgres') ], 'six sessions write');
is(scalar_of($node, 'SELECT count(*) FROM x a JOIN x b ON a.tenant = b.tenant AND a.id < b.id AND bit_count((a.fp # b.fp)::bit(64)) <= 5'),
	'0', 'no two near-duplicates in a scope');
is(scalar_of($node, "SELECT count(*) FROM generate_series(1, 5) t, generate_series(1, 20) i
	WHERE NOT EXISTS (SELECT FROM x WHERE tenant = t AND bit_count((fp # test.random_fp(i))::bit(64)) <= 1)"), '0', 'one of each kind in each scope');

# The same by the guard.
$node->safe_psql('postgres', "CREATE TABLE g (id bigserial PRIMARY KEY, tenant integer, fp bigint);
	CREATE INDEX g_idx ON g USING banding (tenant, fp);
	CREATE TRIGGER g_guard BEFORE INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=5', 'action=skip', 'scope=tenant')");
my $guarded = PostgreSQL::Test::Utils::tempdir . '/guarded.sql';
append_to_file($guarded, slurp_file($script) =~ s/INTO x/INTO g/r =~ s/ ON CONFLICT DO NOTHING//r);
$node->command_ok([ 'pgbench', '-n', '-c', 6, '-j', 1, '-t', 400, '-f', $guarded, $node->connstr('postgres') ], 'six sessions write past the guard');
is(scalar_of($node, 'SELECT count(*) FROM g a JOIN g b ON a.tenant = b.tenant AND a.id < b.id AND bit_count((a.fp # b.fp)::bit(64)) <= 5'),
	'0', 'no two near-duplicates in a scope of the guard');
is(scalar_of($node, "SELECT count(*) FROM generate_series(1, 5) t, generate_series(1, 20) i
	WHERE NOT EXISTS (SELECT FROM g WHERE tenant = t AND bit_count((fp # test.random_fp(i))::bit(64)) <= 1)"), '0', 'the guard lets one of each in');

# Dump and restore.
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE again');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('again') ], 'restored');
is($node->safe_psql('again', "SELECT * FROM test.scopes('t', $scopes)"), '', 'the restored index answers');
like(($node->psql('again', 'INSERT INTO x (tenant, fp) SELECT tenant, fp # 1 FROM x LIMIT 1'))[2], qr/conflicting key value/, 'the restored constraint holds');

# Virtual columns: rows do not hold them, so the guard says that it cannot compare by them; a fingerprint is made of them.
SKIP:
{
	skip 'no virtual columns before 18', 4 if scalar_of($node, 'SHOW server_version_num') < 180_000;
	$node->safe_psql('postgres', q{CREATE TABLE v (id bigint PRIMARY KEY, body text, at date, fp bigint,
		year integer GENERATED ALWAYS AS (extract(year FROM at)) VIRTUAL, plain text GENERATED ALWAYS AS (lower(body)) VIRTUAL);
		CREATE INDEX ON v USING banding (fp)});
	foreach ([ 'AFTER', 'scope=year' ], [ 'BEFORE', 'scope=year', 'action=skip' ], [ 'AFTER', 'columns=plain' ])
	{
		my ($when, @arguments) = @$_;
		my $arguments = join ', ', map { "'$_'" } 'fp', @arguments;
		like(($node->psql('postgres', "CREATE OR REPLACE TRIGGER guard $when INSERT ON v FOR EACH ROW EXECUTE FUNCTION near_dup_guard($arguments);
			INSERT INTO v (id, body, at, fp) VALUES (1, 'x', '2024-01-01', 1)", extra_params => [ '-v', 'VERBOSITY=verbose' ]))[2],
			qr/0A000: trigger "guard" cannot compare rows by virtual generated column/, "@$_: a virtual column is refused");
		$node->safe_psql('postgres', 'DROP TRIGGER guard ON v');
	}
	is(scalar_of($node, q{CREATE TRIGGER fp BEFORE INSERT ON v FOR EACH ROW EXECUTE FUNCTION simhash_trigger('fp', '[null]', 'plain');
		INSERT INTO v (id, body) VALUES (1, 'No Water') RETURNING fp = simhash(ARRAY['no water'], '[null]')}), 't', 'the fingerprint of a virtual column');
}

# Damage: where it stands on a page, what the check says. A leaf of the first tree that covers several scopes.
my $file = $node->data_dir . '/' . scalar_of($node, "SELECT pg_relation_filepath('t_idx')");
$node->stop;
my $whole = slurp_file($file);
my $byte = sub { my ($block, $at) = @_; return unpack('C', substr($whole, $block * 8192 + 24 + $at, 1)); };
my @blocks = 0 .. length($whole) / 8192 - 1;
my ($leaf) = grep {
	my $bits = $byte->($_, 52) + $byte->($_, 53) + $byte->($_, 54);
	$byte->($_, 2) == 2 && $byte->($_, 3) == 0 && $byte->($_, 55) > int(($bits + 7) / 8)
} @blocks;
my ($inner) = grep { $byte->($_, 2) == 3 } @blocks;
my $width = $byte->($leaf, 55);
foreach my $damage (
	[ 'scope of the low key', $leaf * 8192 + 24 + 30, 'V', 3, qr/block $leaf /, ],
	[ 'flag of an index without scopes', $leaf * 8192 + 24 + 5, 'C', 0, qr/block $leaf / ],
	[ 'width of an entry', $leaf * 8192 + 24 + 55, 'C', $width - 1, qr/block $leaf / ],
	[ 'scope of an entry', $leaf * 8192 + 24 + 64 + $width - 4, 'V', 0xffffffff, qr/block $leaf / ],
	[ 'scope of a separator', $inner * 8192 + 24 + 64 + 22 * 3 + 18, 'V', 0, qr/corrupted at block/ ],
	[ 'an unknown feature', 24 + 64 + 28, 'V', 5, qr/feature/ ])
{
	my ($name, $at, $format, $value, $expected) = @$damage;
	my $bytes = pack($format, $value);
	my $damaged = $whole;
	substr($damaged, $at, length $bytes) = $bytes;
	open(my $out, '+<:raw', $file) or die $!;
	print $out $damaged;
	close $out;
	$node->start;
	my ($ret, undef, $err) = $node->psql('postgres', "SELECT banding_check('t_idx')", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($err, qr/XX002|0A000/, "$name: the check has found it");
	like($err, $expected, "$name: and says where");
	$node->safe_psql('postgres', 'SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM t');
	$node->stop;
}

done_testing();
