# dedup_into lists again only what was changed at its source since the last call: no row is missed that is committed,
# whoever wrote it, however long ago and however the table was treated since; and where a row can come to be seen
# without a trace in the table, all is listed.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = test_seed();
my $node = new_node('listed', conf => "max_prepared_transactions = 5\n");

# Runs statements in a session and waits for their end.
sub say_in
{
	my ($session, $sql) = @_;
	${ $session->{in} } .= "$sql;\nSELECT 'all ' || 'done';\n";
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /all done\n/;
	${ $session->{out} } = '';
	return;
}

sub call
{
	my ($result, $source, $options) = @_;
	return $node->safe_psql('postgres', "CALL dedup_into('$result', '$source', '" . ($options // '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}') . "')");
}

# How many rows of the table the result lacks, and whether a place of the log is kept.
sub lacking
{
	my ($result, $table) = @_;
	return $node->safe_psql('postgres', "SELECT count(*) FROM $table s WHERE NOT EXISTS (SELECT FROM $result r WHERE r.id = s.id)");
}

sub is_kept
{
	my ($result) = @_;
	return $node->safe_psql('postgres', "SELECT coalesce(listed ~ '^[0-9/]+ [1-9]', false) FROM ${result}_state");
}

# Pages of a few rows, so that most are not touched by what is written later.
my $body = "(SELECT string_agg(chr(19968 + (hashint4(p + 1000 * (%s %% 300)) & 4095)), '' ORDER BY p) FROM generate_series(1, 40) p)";
my $rows = "SELECT i, " . sprintf($body, 'i') . ", repeat('x', 900) FROM generate_series(%d, %d) i";
sub make
{
	my ($table, $n) = @_;
	my $fill = sprintf $rows, 1, $n;
	$node->safe_psql('postgres', "CREATE TABLE $table (id integer PRIMARY KEY, body text, more text DEFAULT repeat('x', 900));
		ALTER TABLE $table ALTER more SET STORAGE plain; INSERT INTO $table $fill");
	return;
}
sub add { my ($table, $from, $to) = @_; my $fill = sprintf $rows, $from, $to; return "INSERT INTO $table $fill"; }

# One after the other.
my %sources = (table => 't', ordered => 'SELECT id, body FROM t ORDER BY body, id', heap => 'SELECT id, body FROM t');
foreach my $kind (sort keys %sources)
{
	my $source = $sources{$kind};
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS t, r, r_merges, r_state CASCADE');
	make('t', 600);
	my $options = $kind eq 'table' ? '{"text": "body", "n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}' : '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}';
	call('r', $source, $options);
	is(lacking('r', 't'), 0, "$kind: the first call");
	is(is_kept('r'), 't', "$kind: keeps a place");
	# If that place is put forward, new rows are not seen: it is what the call goes by.
	$node->safe_psql('postgres', add('t', 1001, 1005) . "; UPDATE r_state SET listed = regexp_replace(listed, ' [0-9]+', ' 9000000000000000000')");
	call('r', $source);
	is(lacking('r', 't'), 5, "$kind: what it says is not read again");
	# Whatever is taken out of the result is listed again, and all with it.
	$node->safe_psql('postgres', 'DELETE FROM r WHERE id = 7');
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: after rows were taken out all is listed");
	is(is_kept('r'), 't', "$kind: and a place is kept again");
	# What is kept goes with the result that it was kept with: one of the same name that is brought in a dump, of a primary
	# whose standby this was, has not the rows of this one.
	$node->safe_psql('postgres', 'CREATE TABLE kept AS TABLE r_state; DROP TABLE r, r_merges, r_state');
	call('r', $source, $options =~ s/}$/, "where": "id % 2 = 0"}/r);
	$node->safe_psql('postgres', 'UPDATE r_state SET listed = kept.listed FROM kept; DROP TABLE kept');
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: another result of the name does not go by it");

	# Rows written before a call and committed after it, in every way.
	my @writers = map { session($node) } 1 .. 4;
	say_in($writers[0], 'BEGIN; ' . add('t', 2001, 2003));
	say_in($writers[1], 'BEGIN; SAVEPOINT s; ' . add('t', 2011, 2012) . '; ROLLBACK TO s; ' . add('t', 2013, 2014) . '; SAVEPOINT u; ' . add('t', 2015, 2015));
	say_in($writers[2], 'BEGIN; ' . add('t', 2021, 2023) . "; PREPARE TRANSACTION 'p$kind'");
	say_in($writers[3], 'BEGIN; UPDATE t SET id = id + 5000 WHERE id IN (3, 300); ' . add('t', 2031, 2032));
	# Nothing of them is seen, but others write as well.
	foreach my $n (1 .. 3)
	{
		$node->safe_psql('postgres', add('t', 2040 + $n, 2040 + $n));
		call('r', $source);
		is(lacking('r', 't'), 0, "$kind: call $n beside open transactions");
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM r WHERE id BETWEEN 2001 AND 2032 OR id > 5000'), 0, "$kind: what is not committed is not there");
	say_in($writers[0], 'COMMIT');
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: one commits");
	say_in($writers[1], 'COMMIT');
	$node->safe_psql('postgres', "COMMIT PREPARED 'p$kind'");
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: one with subtransactions, and one that was prepared");
	call('r', $source);
	say_in($writers[3], 'COMMIT');
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: one that changed ids");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM r WHERE id IN (2011, 2012)'), 0, "$kind: what was rolled back never comes");
	finish_session($_) for @writers;
	call('r', $source);
	is(is_kept('r'), 't', "$kind: a place is kept");

	# What is done to the table.
	my $n = 3000;
	foreach my $how ('VACUUM t', 'DELETE FROM t WHERE id % 5 = 0; VACUUM t', 'VACUUM FULL t', 'VACUUM FREEZE t', 'CLUSTER t USING t_pkey',
		'CHECKPOINT', 'ALTER TABLE t ADD COLUMN extra int DEFAULT 5', 'ALTER TABLE t SET UNLOGGED', 'ALTER TABLE t SET LOGGED',
		'CREATE TABLE u (LIKE t INCLUDING ALL); INSERT INTO u TABLE t; DROP TABLE t; ALTER TABLE u RENAME TO t; ALTER INDEX u_pkey RENAME TO t_pkey')
	{
		$node->safe_psql('postgres', $_) for split /; /, $how;
		foreach my $again (1, 2)
		{
			$n += 2;
			$node->safe_psql('postgres', add('t', $n, $n + 1));
			call('r', $source, $kind eq 'table' && $how =~ /DROP/ ? $options : undef);
			is(lacking('r', 't'), 0, "$kind: $how, $again");
		}
	}
	$node->safe_psql('postgres', 'TRUNCATE t; ' . add('t', 4000, 4100));
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: TRUNCATE");
	call('r', $source);
	$node->stop('immediate');
	$node->start;
	$node->safe_psql('postgres', add('t', 4200, 4201));
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: after a crash");

	# A condition leaves out rows that a later call without it takes in; a call that fails leaves nothing that it has not done.
	$node->safe_psql('postgres', add('t', 4300, 4309));
	call('r', $source, '{"where": "id % 2 = 0"}');
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: what a condition left out");
	$node->safe_psql('postgres', add('t', 4400, 4409) . "; ALTER TABLE r ADD CONSTRAINT few CHECK (id <> 4407)");
	isnt($node->psql('postgres', "CALL dedup_into('r', '$source', '{\"batch\": 3}')"), 0, "$kind: a call fails");
	$node->safe_psql('postgres', 'ALTER TABLE r DROP CONSTRAINT few');
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: and the next one goes on");

	# Rows that come to be seen without a change of their pages.
	call('r', $source);
	$node->safe_psql('postgres', 'ALTER TABLE t ADD COLUMN id2 integer DEFAULT 0; UPDATE t SET id2 = id + 10000; ');
	call('r', $source) for 1, 2;
	$node->safe_psql('postgres', 'ALTER TABLE t RENAME id TO id3; ALTER TABLE t RENAME id2 TO id; ' . ($kind eq 'heap' ? '' : 'CREATE INDEX ON t (id)'));
	call('r', $source);
	is(lacking('r', 't'), 0, "$kind: another column is called as the id was");
	if ($kind eq 'heap')
	{
		$node->safe_psql('postgres', 'CREATE TABLE child (LIKE t); ' . add('child (id3, body, more)', 20001, 20003) . '; UPDATE child SET id = id3; ALTER TABLE child INHERIT t');
		call('r', $source);
		is(lacking('r', 't'), 0, "$kind: a table that inherits");
	}
}

# Ids of a column with a collation of its own are compared by that, and not found by the result's index: the result is not
# read once for each of them.
$node->safe_psql('postgres', 'DROP TABLE IF EXISTS t, r, r_merges, r_state CASCADE');
make('t', 600);
$node->safe_psql('postgres', 'ALTER TABLE t ALTER id TYPE text COLLATE "C"');
call('r', $sources{heap});
$node->safe_psql('postgres', q(DELETE FROM t WHERE id LIKE '%77'; ) . add('t', 1001, 1005));
my $was = $node->safe_psql('postgres', q(SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'r'));
call('r', $sources{heap});
is(lacking('r', 't'), 0, 'ids with a collation');
wait_until($node, q(SELECT n_tup_ins = 605 FROM pg_stat_user_tables WHERE relname = 'r'));
cmp_ok($node->safe_psql('postgres', q(SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'r')) - $was, '<', 20 * 605, 'the result is not read for each of them');

# Row-level security: what it hid is taken in when it is seen.
$node->safe_psql('postgres', "CREATE ROLE owner; CREATE SCHEMA o AUTHORIZATION owner; GRANT ALL ON SCHEMA public TO owner");
make('o.p', 50);
$node->safe_psql('postgres', 'ALTER TABLE o.p OWNER TO owner; ALTER TABLE o.p FORCE ROW LEVEL SECURITY; CREATE POLICY few ON o.p USING (id > 25)');
my $as_owner = sub { $node->safe_psql('postgres', "SET ROLE owner; CALL dedup_into('o.r', 'SELECT id, body FROM o.p ORDER BY id', '{\"n\": 2}')") };
$node->safe_psql('postgres', 'ALTER TABLE o.p ENABLE ROW LEVEL SECURITY');
$as_owner->() for 1, 2;
is(lacking('o.r', 'o.p'), 25, 'row-level security hides rows');
$node->safe_psql('postgres', 'ALTER TABLE o.p DISABLE ROW LEVEL SECURITY');
$as_owner->();
is(lacking('o.r', 'o.p'), 0, 'and when it is gone they are taken in');
# Whoever may read the columns may not read where rows are.
$node->safe_psql('postgres', 'REVOKE ALL ON o.p FROM owner; ALTER TABLE o.p OWNER TO postgres; GRANT SELECT (id, body) ON o.p TO owner; ' . add('o.p', 101, 103));
$as_owner->() for 1, 2;
is(lacking('o.r', 'o.p'), 0, 'rights on columns suffice');

# At random: four writers, each with transactions that stay open over calls, and rows that go.
foreach my $history (1 .. rows(6))
{
	my $source = (values %sources)[int rand 3];
	my $options = $source eq 't' ? '{"text": "body", "n": 2, "distance": 12, "weights": {}, "similarity": 0.5, "particulars": []}' : '{"n": 2, "distance": 12, "weights": {}, "similarity": 0.5, "particulars": []}';
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS t, r, r_merges, r_state CASCADE');
	make('t', 100 + int rand 200);
	my @writers = map { session($node) } 1 .. 4;
	my @open = (0) x 4;
	my ($next, $missed, $calls) = (1000, 0, 0);
	foreach my $step (1 .. 60)
	{
		my $at = int rand 4;
		my $what = rand;
		if ($what < 0.45)
		{
			my $sql = $open[$at] || rand() < 0.5 ? '' : 'BEGIN; ';
			$open[$at] = 1 if $sql;
			my $to = $next + int rand 5;
			$sql .= rand() < 0.2 && $open[$at] ? 'SAVEPOINT s; ' . add('t', $next, $to) . '; ROLLBACK TO s' : add('t', $next, $to);
			$sql .= "; DELETE FROM t WHERE id BETWEEN $next - 40 AND $next - 38 AND id % 4 = $at" if rand() < 0.3;
			$next = $to + 1;
			say_in($writers[$at], $sql);
		}
		elsif ($what < 0.6 && $open[$at])
		{
			say_in($writers[$at], rand() < 0.7 ? 'COMMIT' : 'ROLLBACK');
			$open[$at] = 0;
		}
		elsif ($what < 0.65) { $node->safe_psql('postgres', 'VACUUM t'); }
		else
		{
			call('r', $source, $options);
			$missed += lacking('r', 't');
			$calls++;
		}
	}
	finish_session($_) for @writers;
	call('r', $source, $options) for 1, 2;
	is($missed + lacking('r', 't'), 0, "history $history: no row is missed by $calls calls, seed $seed, $source");
	my $arrived = 'SELECT t.id, t.body FROM r JOIN t USING (id) ORDER BY r.arrival';
	is($node->safe_psql('postgres', "SELECT count(*) FROM (SELECT id, keeper FROM dedup('$arrived', '{\"n\": 2, \"distance\": 12}')
			EXCEPT SELECT id, keeper FROM r) d WHERE NOT EXISTS (SELECT FROM r LEFT JOIN t USING (id) WHERE t.id IS NULL)"), 0,
		"history $history: groups are those of dedup, seed $seed");
}
log_is_clean($node, 'listed');
$node->stop;
done_testing();
