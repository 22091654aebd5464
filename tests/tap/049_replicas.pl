# Protects reading elsewhere: a streaming standby answers as its own rows say while it replays, and a subscriber that
# is sent fingerprints without the texts finds the same near rows as the publisher.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node('primary', standby => 1, conf => "wal_level = logical\n");
$primary->safe_psql('postgres', q{
	CREATE TABLE note (id bigint PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash(body)) STORED);
	-- Rows 4k to 4k + 3 are nearly the same text.
	CREATE FUNCTION body(i bigint) RETURNS text LANGUAGE sql AS
		$$ SELECT string_agg('w' || (hashint8(i / 4 * 100 + k) & 8191), ' ') || ' ' || i % 4 FROM generate_series(1, 40) k $$;
	INSERT INTO note SELECT i, body(i) FROM generate_series(1, 3000) i;
	CREATE INDEX note_fp ON note USING banding (fp)});
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = 300s\n");
$standby->start;

# Readers of the standby compare each answer with a sequential scan of the same snapshot, while the primary writes.
my $file = PostgreSQL::Test::Utils::tempdir . '/agree.sql';
append_to_file($file, "\\set i random(1, 3000)\n\\set r random(0, 12)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\n"
	  . "SELECT test.agree('note', (SELECT fp FROM note ORDER BY abs(id - :i) LIMIT 1), :r);\nCOMMIT;\n");
my ($out, $err) = ('', '');
my $readers = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 600, '-f', $file, $standby->connstr('postgres') ], '>', \$out, '2>', \$err);
foreach my $round (1 .. 3)
{
	my $from = 3000 * $round;
	$primary->safe_psql('postgres', $_) foreach ("INSERT INTO note SELECT i, body(i) FROM generate_series($from + 1, $from + 3000) i",
		"UPDATE note SET body = body(id + 3) WHERE id % 10 = $round", "DELETE FROM note WHERE id % 11 = $round", 'VACUUM note');
}
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
IPC::Run::signal($readers, 'INT');
eval { IPC::Run::finish($readers) };
unlike($err, qr/ERROR|aborted|FATAL/, 'no reader of the standby failed or was answered wrongly');
my $near = q{SELECT count(*), sum(a), sum(b), sum(distance) FROM near_dup_pairs('SELECT id, fp FROM note', '{"distance": 8}')};
my $pairs = $primary->safe_psql('postgres', $near);
like($pairs, qr/^\d{3,}\|/, 'there are near pairs');
is($standby->safe_psql('postgres', $near), $pairs, 'near_dup_pairs on the standby');
my $dedup = q{SELECT count(*), sum(keeper) FROM dedup('SELECT id, body, fp FROM note ORDER BY id', '{"fp": "fp", "distance": 10, "similarity": 0.5, "n": 2, "details": []}')};
is($standby->safe_psql('postgres', $dedup), $primary->safe_psql('postgres', $dedup), 'dedup on the standby');
check_is_clean($standby, 'note_fp', 'standby');
log_is_clean($standby, 'standby');
$standby->stop;

# The subscriber's column is a plain one: what is sent was computed by the publisher, and its recipe need not be known here.
# A generated column is not sent (before PostgreSQL 18), so the publisher keeps a copy of it in a plain one.
{
	my $subscriber = new_node('subscriber');
	$primary->safe_psql('postgres', q{
		CREATE TABLE sent (id bigint PRIMARY KEY, body text, fp bigint);
		CREATE TRIGGER sent_fp BEFORE INSERT OR UPDATE ON sent FOR EACH ROW EXECUTE FUNCTION simhash_trigger('fp', '[null]', 'body');
		INSERT INTO sent SELECT id, body FROM note;
		CREATE PUBLICATION prints FOR TABLE sent (id, fp)});
	$subscriber->safe_psql('postgres', 'CREATE TABLE sent (id bigint PRIMARY KEY, fp bigint); CREATE INDEX sent_fp ON sent USING banding (fp)');
	my $connection = $primary->connstr . ' dbname=postgres';
	$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION prints CONNECTION '$connection' PUBLICATION prints");
	ok(wait_until($subscriber, q{SELECT bool_and(srsubstate IN ('r', 's')) FROM pg_subscription_rel}, 180), 'the rows are copied');
	$primary->safe_psql('postgres', 'INSERT INTO sent SELECT i + 100000, body(i) FROM generate_series(1, 500) i;
		UPDATE sent SET body = body(id + 1) WHERE id % 7 = 0; DELETE FROM sent WHERE id % 13 = 0');
	$primary->wait_for_catchup('prints');
	my $all = 'SELECT count(*), sum(id), sum(hashint8(fp)) FROM sent';
	is($subscriber->safe_psql('postgres', $all), $primary->safe_psql('postgres', $all), 'the subscriber has the fingerprints');
	is_sound($subscriber, 'sent', 'sent_fp', 'subscriber', queries => 3);
	log_is_clean($subscriber, 'subscriber');
	$subscriber->stop;
}
log_is_clean($primary, 'primary');
$primary->stop;
done_testing();
