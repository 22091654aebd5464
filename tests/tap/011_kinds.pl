# Protects the promise of exact answers for every kind of table and index
# PostgreSQL has, and through what it does to their files.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('kinds');
my $n = rows(8_000);
my $rows = "SELECT i, test.fp('hot', i) FROM generate_series(1, $n) i";

# Partial index: rows that come into and leave its predicate.
$node->safe_psql('postgres', "CREATE TABLE partial (id bigint, fp bigint, wanted boolean);
	INSERT INTO partial SELECT i, test.fp('hot', i), i % 2 = 0 FROM generate_series(1, $n) i;
	CREATE INDEX partial_idx ON partial USING banding (fp) WHERE wanted;
	INSERT INTO partial SELECT i, test.fp('hot', i), i % 2 = 0 FROM generate_series($n + 1, $n + 2000) i;
	UPDATE partial SET wanted = NOT wanted WHERE id % 5 = 0; VACUUM partial");
is_sound($node, 'partial', 'partial_idx', 'partial index', cond => "'wanted'");

# Index on an expression.
$node->safe_psql('postgres', "CREATE TABLE computed (id bigint, a bigint, b bigint);
	INSERT INTO computed SELECT i, test.fp('uniform', i) # i, i FROM generate_series(1, $n) i;
	CREATE INDEX computed_idx ON computed USING banding ((a # b));
	INSERT INTO computed SELECT i, test.fp('uniform', i) # i, i FROM generate_series($n + 1, $n + 2000) i");
is_sound($node, 'computed', 'computed_idx', 'expression index', fp => "'a # b'");

# On the fingerprint of a text.
$node->safe_psql('postgres', "CREATE TABLE texts (id bigint, body text);
	INSERT INTO texts SELECT i, 'complaint ' || (i / 3) || ' about noise in street ' || (i / 30) || ' again ' || (i % 3)
	  FROM generate_series(1, 2000) i; INSERT INTO texts VALUES (0, NULL), (-1, '');
	CREATE INDEX texts_idx ON texts USING banding (simhash(body))");
is_sound($node, 'texts', 'texts_idx', 'index on simhash()', fp => "'simhash(body)'", queries => 3);

# The check runs the functions of an index as the owner of its table does, not
# with the rights of whoever checks.
$node->safe_psql('postgres', "CREATE ROLE mallory; CREATE SCHEMA lair AUTHORIZATION mallory; SET ROLE mallory;
	CREATE FUNCTION lair.tell(fp bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS \$\$ BEGIN RAISE NOTICE 'run by %', current_user; RETURN fp; END \$\$;
	CREATE TABLE lair.trap (id bigint, fp bigint); INSERT INTO lair.trap VALUES (1, 1);
	CREATE INDEX trap_idx ON lair.trap USING banding (lair.tell(fp))");
my ($told, $said) = ('', '');
$node->psql('postgres', "SELECT banding_check('lair.trap_idx', true); SELECT current_user", stdout => \$told, stderr => \$said);
like($said, qr/NOTICE:  run by mallory/, 'banding_check runs an index expression as the owner of the table');
unlike($said, qr/run by postgres/, 'and not as the caller');
is($told, "\npostgres", 'who is the caller again afterwards');

# Partitions, one of them attached later.
$node->safe_psql('postgres', "CREATE TABLE parted (id bigint, fp bigint) PARTITION BY HASH (id);
	CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE INDEX parted_idx ON parted USING banding (fp) WITH (mu = 0.5);
	CREATE TABLE parted_1 (id bigint, fp bigint);
	ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO parted $rows; DELETE FROM parted WHERE id % 7 = 0; VACUUM parted");
is_sound($node, 'parted', 'parted_0_fp_idx', 'partitioned table');
check_is_clean($node, 'parted_1_fp_idx', 'partitioned table');

# Temporary: its pages are in the session's own buffers, with few of them and
# no locks. More statements than there are buffers show a pin that is kept.
foreach my $in_transaction (0, 1)
{
	my ($begin, $commit) = $in_transaction ? ('BEGIN;', 'COMMIT;') : ('', '');
	my $prelude = "SET client_min_messages = warning; SET temp_buffers = '1MB'; $begin
		CREATE TEMP TABLE temporary (id bigint, fp bigint);
		INSERT INTO temporary SELECT i, test.fp('hot', i) FROM generate_series(1, 4000) i;
		CREATE INDEX temporary_idx ON temporary USING banding (fp);
		INSERT INTO temporary SELECT i, test.fp('hot', i) FROM generate_series(4001, 8000) i;
		DELETE FROM temporary WHERE id % 3 = 0; $commit "
	  . ($in_transaction ? '' : 'VACUUM temporary; ')
	  . "INSERT INTO temporary SELECT i, test.fp('hot', i) FROM generate_series(8001, 9000) i";
	check_is_clean($node, 'temporary_idx', 'temporary table', $prelude);
	answers_agree($node, 'temporary', 'temporary table', prelude => $prelude, queries => 3);
}
$node->safe_psql('postgres', "BEGIN; CREATE TEMP TABLE forgetful (id bigint, fp bigint) ON COMMIT DELETE ROWS;
	CREATE INDEX ON forgetful USING banding (fp); INSERT INTO forgetful $rows; COMMIT;
	INSERT INTO forgetful SELECT i, test.fp('hot', i) FROM generate_series(1, 10) i;
	BEGIN; INSERT INTO forgetful $rows;
	SET LOCAL enable_seqscan = off; DO \$\$ BEGIN
		IF (SELECT count(*) FROM forgetful WHERE fp <@ hamming_ball(0, 64)) <> $n THEN RAISE 'not $n rows'; END IF;
	END \$\$; COMMIT");

# Unlogged; a clean restart keeps it.
$node->safe_psql('postgres', "CREATE UNLOGGED TABLE unlogged (id bigint, fp bigint);
	CREATE INDEX unlogged_idx ON unlogged USING banding (fp);
	INSERT INTO unlogged $rows; DELETE FROM unlogged WHERE id % 3 = 0; VACUUM unlogged");
is_sound($node, 'unlogged', 'unlogged_idx', 'unlogged table');
$node->restart;
is_sound($node, 'unlogged', 'unlogged_idx', 'unlogged table, after a clean restart', queries => 3);
$node->safe_psql('postgres', 'ALTER TABLE unlogged SET LOGGED');
is_sound($node, 'unlogged', 'unlogged_idx', 'set logged', queries => 3);
$node->safe_psql('postgres', 'ALTER TABLE unlogged SET UNLOGGED; INSERT INTO unlogged SELECT i, i FROM generate_series(100001, 101000) i');
is_sound($node, 'unlogged', 'unlogged_idx', 'set unlogged', queries => 3);

# NULLs come last, and no search finds them.
$node->safe_psql('postgres', "CREATE TABLE nulls (id bigint, fp bigint);
	INSERT INTO nulls SELECT i, CASE WHEN i % 3 > 0 THEN test.fp('uniform', i) END FROM generate_series(1, $n) i;
	CREATE INDEX nulls_idx ON nulls USING banding (fp);
	INSERT INTO nulls SELECT i, CASE WHEN i % 3 > 0 THEN test.fp('uniform', i) END FROM generate_series($n + 1, $n + 1000) i;
	UPDATE nulls SET fp = NULL WHERE id % 10 = 1; UPDATE nulls SET fp = id WHERE fp IS NULL AND id % 10 = 3;
	VACUUM ANALYZE nulls");
is_sound($node, 'nulls', 'nulls_idx', 'table with NULLs');
is(scalar_of($node, 'SET enable_seqscan = off; SELECT count(*) = (SELECT count(fp) FROM nulls) FROM nulls WHERE fp <@ hamming_ball(0, 64)'),
	't', 'a search at radius 64 finds all rows but NULLs');
is(scalar_of($node, 'SET enable_seqscan = off; SELECT count(*) FROM nulls') , $n + 1000,
	'a scan of all rows gives NULLs too');
foreach my $way ('SET enable_indexscan = off', 'SET enable_bitmapscan = off')
{
	is(scalar_of($node, "SET enable_seqscan = off; $way; SELECT string_agg(id::text, ' ' ORDER BY id) = (SELECT string_agg(id::text, ' ' ORDER BY id) FROM nulls WHERE coalesce(fp, 17) = 17) FROM nulls WHERE fp IS NULL"),
		't', "$way: IS NULL finds all of them");
	is(scalar_of($node, "SET enable_seqscan = off; $way; SELECT count(*) = (SELECT count(fp) FROM nulls) FROM nulls WHERE fp IS NOT NULL"),
		't', "$way: IS NOT NULL finds all others");
}
is(scalar_of($node, 'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM nulls') , $n + 1000,
	'nor where every other way is discouraged');
is(scalar_of($node, 'SELECT rows = (SELECT count(fp) FROM nulls) FROM banding_stats($$nulls_idx$$)'),
	't', 'banding_stats counts the rows that have a fingerprint');
$node->safe_psql('postgres', "CREATE TABLE only_nulls (id bigint, fp bigint); INSERT INTO only_nulls SELECT i FROM generate_series(1, 100) i;
	CREATE INDEX only_nulls_idx ON only_nulls USING banding (fp)");
is(scalar_of($node, 'SET enable_seqscan = off; SELECT count(*) FROM only_nulls WHERE fp <@ hamming_ball(0, 64)'), '0',
	'nothing is found among NULLs');

# Options, at both ends of their ranges, and changed ones.
my $stats = sub {
	my ($column, $index) = @_;
	return scalar_of($node, "SELECT $column FROM banding_stats('$index')");
};
$node->safe_psql('postgres', "CREATE TABLE options (id bigint, fp bigint); INSERT INTO options SELECT i, test.fp('hot', i) FROM generate_series(1, 24000) i");
foreach my $with ('fillfactor = 10, mu = 0', 'fillfactor = 100, mu = 1000000', 'mu = 0.25')
{
	$node->safe_psql('postgres', "CREATE INDEX options_idx ON options USING banding (fp) WITH ($with)");
	is_sound($node, 'options', 'options_idx', "options $with", queries => 4);
	$node->safe_psql('postgres', "INSERT INTO options SELECT -i, test.fp('hot', i) FROM generate_series(1, 3000) i");
	is_sound($node, 'options', 'options_idx', "options $with, inserted into", queries => 4);
	$node->safe_psql('postgres', 'DROP INDEX options_idx; DELETE FROM options WHERE id < 0');
}
$node->safe_psql('postgres', 'CREATE INDEX options_idx ON options USING banding (fp) WITH (mu = 1000000)');
is($stats->('hot_buckets', 'options_idx'), '0', 'no bucket is hot at mu = 1000000');
my $pages = $stats->('pages', 'options_idx');
$node->safe_psql('postgres', 'ALTER INDEX options_idx SET (fillfactor = 40, mu = 2); VACUUM options');
is($stats->('mu', 'options_idx'), '1000000', 'ALTER INDEX SET changes nothing at first');
$node->safe_psql('postgres', 'REINDEX INDEX options_idx');
cmp_ok($stats->('hot_buckets', 'options_idx'), '>=', 2, 'buckets are hot after REINDEX');
cmp_ok($stats->('pages', 'options_idx'), '>', $pages * 1.5, 'and leaves are emptier');
is_sound($node, 'options', 'options_idx', 'altered options', queries => 4);
foreach my $with ('fillfactor = 9', 'fillfactor = 101', 'mu = -1', 'mu = 1e7', 'pages = 1')
{
	my ($ret) = $node->psql('postgres', "CREATE INDEX refused ON options USING banding (fp) WITH ($with)");
	isnt($ret, 0, "option $with is refused");
}

# To another tablespace and back, as a file that is copied.
my $place = PostgreSQL::Test::Utils::tempdir;
$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION '$place'");
$node->safe_psql('postgres', 'ALTER INDEX options_idx SET TABLESPACE elsewhere');
is_sound($node, 'options', 'options_idx', 'in another tablespace', queries => 3);
$node->safe_psql('postgres', "INSERT INTO options SELECT i, test.fp('hot', i) FROM generate_series(24001, 26000) i;
	ALTER INDEX options_idx SET TABLESPACE pg_default");
is_sound($node, 'options', 'options_idx', 'back from another tablespace', queries => 3);

# A session that knows the index keeps an eye on its file: TRUNCATE, also of a
# table of the same transaction (then the file stays and is emptied in place),
# and REINDEX in another session.
$node->safe_psql('postgres', "CREATE TABLE truncated (id bigint, fp bigint); CREATE INDEX truncated_idx ON truncated USING banding (fp); INSERT INTO truncated $rows");
my $found = "(SELECT count(*) FROM truncated WHERE fp <@ hamming_ball(0, 64))";
my $session = session($node, '-v', 'ON_ERROR_STOP=1');
my $ask = sub {
	my ($sql) = @_;
	${ $session->{out} } = '';
	${ $session->{in} } .= "$sql\n\\echo end\n";
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /end\n/ || ${ $session->{err} } =~ /ERROR/;
	return ${ $session->{out} } =~ s/end\n//r . ${ $session->{err} };
};
$ask->('SET enable_seqscan = off;');
is($ask->("SELECT $found;"), "$n\n", 'before TRUNCATE');
is($ask->("TRUNCATE truncated; SELECT $found; INSERT INTO truncated SELECT i, i FROM generate_series(1, 3) i; SELECT $found;"), "0\n3\n", 'after TRUNCATE');
is($ask->("BEGIN; TRUNCATE truncated; INSERT INTO truncated $rows; SELECT $found; TRUNCATE truncated;
	INSERT INTO truncated SELECT i, i FROM generate_series(1, 5) i; SELECT $found; TRUNCATE truncated; SELECT $found; ROLLBACK; SELECT $found;"),
	"$n\n5\n0\n3\n", 'truncated and filled twice in a transaction that rolls back');
is($ask->("BEGIN; CREATE TABLE fresh (id bigint, fp bigint); INSERT INTO fresh $rows; CREATE INDEX fresh_idx ON fresh USING banding (fp);
	SELECT count(*) FROM fresh WHERE fp <@ hamming_ball(0, 64); TRUNCATE fresh;
	INSERT INTO fresh SELECT i, i FROM generate_series(1, 7) i; SELECT count(*) FROM fresh WHERE fp <@ hamming_ball(0, 64); COMMIT;
	SELECT count(*) FROM fresh WHERE fp <@ hamming_ball(0, 64); SELECT banding_check('fresh_idx', true);"),
	"$n\n7\n7\n\n", 'emptied in place');
$node->safe_psql('postgres', "INSERT INTO truncated $rows; REINDEX INDEX truncated_idx");
is($ask->("SELECT $found;"), ($n + 3) . "\n", 'after REINDEX in another session');
$node->safe_psql('postgres', 'TRUNCATE truncated');
is($ask->("SELECT $found;"), "0\n", 'after TRUNCATE in another session');
is($ask->("BEGIN; SAVEPOINT a; INSERT INTO truncated $rows; ROLLBACK TO a; INSERT INTO truncated SELECT i, i FROM generate_series(1, 9) i; SELECT $found; COMMIT;"),
	"9\n", 'after ROLLBACK TO SAVEPOINT');
finish_session($session);
is_sound($node, 'truncated', 'truncated_idx', 'after all that', queries => 3);
is_sound($node, 'fresh', 'fresh_idx', 'emptied in place', queries => 3);
$node->safe_psql('postgres', 'VACUUM FULL options');
is_sound($node, 'options', 'options_idx', 'after VACUUM FULL', queries => 3);

# A build in little memory writes runs and merges them: the same pages come out.
$node->safe_psql('postgres', "CREATE EXTENSION pageinspect;
	CREATE TABLE spilled (id bigint, fp bigint); INSERT INTO spilled SELECT i, test.fp('hot', i) FROM generate_series(1, 150000) i;
	SET maintenance_work_mem = '256MB'; CREATE INDEX roomy_idx ON spilled USING banding (fp);
	SET maintenance_work_mem = '1MB'; SET log_temp_files = 0; CREATE INDEX cramped_idx ON spilled USING banding (fp)");
like(slurp_file($node->logfile), qr{temporary file: path "base/pgsql_tmp}, 'the build in little memory writes temporary files');
is($stats->('pages', 'cramped_idx'), $stats->('pages', 'roomy_idx'), 'and as many pages');
is(scalar_of($node, "SELECT count(*) FROM generate_series(0, pg_relation_size('roomy_idx') / 8192 - 1) b
	WHERE substr(get_raw_page('roomy_idx', b::integer), 13) <> substr(get_raw_page('cramped_idx', b::integer), 13)"),
	'0', 'that are the same, byte for byte');
cmp_ok($stats->('hot_buckets', 'cramped_idx'), '>=', 2, 'hot buckets among them');
check_is_clean($node, 'cramped_idx', 'built in little memory');
$node->safe_psql('postgres', 'DROP INDEX roomy_idx');
answers_agree($node, 'spilled', 'built in little memory', queries => 4);

# Built over an empty table, and over one row.
$node->safe_psql('postgres', 'CREATE TABLE tiny (id bigint, fp bigint); CREATE INDEX tiny_idx ON tiny USING banding (fp)');
is(scalar_of($node, 'SET enable_seqscan = off; SELECT count(*) FROM (SELECT 1 FROM tiny ORDER BY fp <~> 1 LIMIT 5) x'), '0', 'nothing is nearest in an empty index');
check_is_clean($node, 'tiny_idx', 'empty');
$node->safe_psql('postgres', 'INSERT INTO tiny VALUES (1, -1); VACUUM tiny; REINDEX TABLE tiny');
is_sound($node, 'tiny', 'tiny_idx', 'one row');

log_is_clean($node, 'kinds');
$node->stop;
done_testing();
