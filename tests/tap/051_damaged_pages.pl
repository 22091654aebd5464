# Protects the server from pages that are not what was written: bytes and bits turned over, pages torn, swapped, of
# yesterday, of another index, or empty. Every answer is that of a sequential scan, or an error XX002 says that it cannot be
# given (XX001 if PostgreSQL meets its own page header first), or banding_check finds the damage; nothing crashes or goes on
# for ever. 200 pages; 10,000 with scripts/test --long, DEDUP_TEST_PAGES with another number, fewer if DEDUP_TEST_SECONDS
# are over.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

use constant { PAGE => 8192, SECTOR => 512, COPIES => 30 };

my $pages = $ENV{DEDUP_TEST_PAGES} // ($ENV{DEDUP_TEST_LONG} ? 10_000 : 200);
my $until = time + ($ENV{DEDUP_TEST_SECONDS} // 'inf');
my $seed = test_seed();
my $node = new_node('damaged', no_checksums => 1, conf => "statement_timeout = '5min'\n");
my @tables = map { "d$_" } 1 .. COPIES;
$node->safe_psql('postgres', join '', map { my $scoped = substr($_, 1) % 3 == 0;
		"CREATE TABLE $_ (id bigint, tenant integer DEFAULT 1, fp bigint);
		CREATE INDEX ${_}_idx ON $_ USING banding (" . ($scoped ? 'tenant, fp' : 'fp') . ") WITH (" . ($scoped ? 'fillfactor = 70' : 'mu = 0') . ");\n" } @tables);
$node->safe_psql('postgres', q{
	CREATE FUNCTION test.found(tbl text, q bigint, r integer, way text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE ids bigint[]; nearest integer[];
	BEGIN
		PERFORM set_config('enable_seqscan', (way = 'table')::text, true), set_config('enable_indexscan', (way = 'index')::text, true),
			set_config('enable_bitmapscan', (way = 'bitmap')::text, true), set_config('enable_sort', (way <> 'index')::text, true);
		EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %I WHERE tenant = 1 AND fp <@ hamming_ball($1, $2)', tbl) INTO ids USING q, r;
		EXECUTE format('SELECT array_agg(hamming(fp, $1)) FROM (SELECT fp FROM %I WHERE tenant = 1 ORDER BY fp <~> $1 LIMIT 15) n', tbl) INTO nearest USING q;
		RETURN concat(ids, nearest);
	END $$;
	-- What has become of a table's index: "unseen" (all answers right), "said" (an error says so), "found" (an answer is
	-- wrong, and the check says so), or what must not be.
	CREATE FUNCTION test.verdict(tbl text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE wrong text; said boolean := false; q bigint; r integer; way text; step text;
	BEGIN
		FOR q, r IN SELECT test.fp('hot', hashint4(i) & 1023), i % 21 FROM generate_series(1, 5) i LOOP
			FOREACH way IN ARRAY '{index,bitmap}'::text[] LOOP
				BEGIN
					IF test.found(tbl, q, r, way) IS DISTINCT FROM test.found(tbl, q, r, 'table') THEN
						wrong := format('%s %s within %s', way, q, r);
					END IF;
				EXCEPTION WHEN index_corrupted OR data_corrupted OR feature_not_supported THEN said := true;
					WHEN OTHERS THEN RETURN format('search: %s %s', SQLSTATE, SQLERRM);
				END;
			END LOOP;
		END LOOP;
		FOREACH step IN ARRAY ARRAY['INSERT INTO %1$I SELECT id + 10000, tenant, fp FROM %1$I WHERE id % 3 = 0', 'SELECT * FROM banding_stats(''%1$s_idx'')'] LOOP
			BEGIN
				EXECUTE format(replace(step, '% ', '%% '), tbl);
			EXCEPTION WHEN index_corrupted OR data_corrupted OR feature_not_supported THEN said := true;
				WHEN OTHERS THEN RETURN format('%s: %s %s', step, SQLSTATE, SQLERRM);
			END;
		END LOOP;
		IF wrong IS NULL THEN RETURN CASE WHEN said THEN 'said' ELSE 'unseen' END; END IF;
		BEGIN
			PERFORM banding_check((tbl || '_idx')::regclass, true);
		EXCEPTION WHEN index_corrupted OR data_corrupted OR feature_not_supported THEN RETURN 'found';
			WHEN OTHERS THEN RETURN format('check: %s %s', SQLSTATE, SQLERRM);
		END;
		RETURN 'WRONG: ' || wrong;
	END $$});

sub read_file { open my $in, '<:raw', shift or die $!; local $/; return scalar <$in>; }
sub write_file { my ($file, $bytes) = @_; open my $out, '>:raw', $file or die $!; print $out $bytes; close $out or die $!; return; }
sub files { return map { $node->data_dir . '/' . $_ } split /\n/, scalar_of($node, "SELECT pg_relation_filepath(t || '_idx') FROM unnest('{" . join(',', @tables) . "}'::text[]) t"); }

# Does something to a page; whether it is another one now.
my %kinds = (
	bits => sub { my ($now, $at) = @_; vec(substr($$now, $at * PAGE, PAGE), int rand PAGE * 8, 1) ^= 1 foreach 1 .. 1 + int rand 8; },
	header => sub { my ($now, $at) = @_; vec(substr($$now, $at * PAGE, 96), int rand 96 * 8, 1) ^= 1 foreach 1 .. 1 + int rand 4; },
	bytes => sub { my ($now, $at) = @_; my $n = 1 + int rand 64; substr($$now, $at * PAGE + int rand PAGE - $n, $n) = join '', map { chr int rand 256 } 1 .. $n; },
	torn => sub { my ($now, $at, $old) = @_; my $n = SECTOR * (1 + int rand 15); substr($$now, $at * PAGE, $n) = substr($$old, $at * PAGE, $n) if length $$old > $at * PAGE; },
	old => sub { my ($now, $at, $old) = @_; substr($$now, $at * PAGE, PAGE) = substr($$old, $at * PAGE, PAGE) if length $$old > $at * PAGE; },
	swapped => sub { my ($now, $at) = @_; my $other = int rand length($$now) / PAGE; my $page = substr($$now, $at * PAGE, PAGE);
		substr($$now, $at * PAGE, PAGE) = substr($$now, $other * PAGE, PAGE); substr($$now, $other * PAGE, PAGE) = $page; },
	foreign => sub { my ($now, $at, $old, $foreign) = @_; substr($$now, $at * PAGE, PAGE) = substr($$foreign, (int rand length($$foreign) / PAGE) * PAGE, PAGE); },
	empty => sub { my ($now, $at) = @_; substr($$now, $at * PAGE, PAGE) = "\0" x PAGE; });

my ($damaged, $round, %verdicts, @bad) = (0, 0);
my $log = -s $node->logfile;
while ($damaged < $pages && time < $until)
{
	$round++;
	$node->safe_psql('postgres', join '', map { "TRUNCATE $_; INSERT INTO $_ SELECT i, 1 + (i % 7 = 0)::integer, test.fp('hot', i) FROM generate_series($round, $round + 600) i;\n" } @tables);
	$node->safe_psql('postgres', 'CHECKPOINT');
	my @files = files();
	my @old = map { read_file($_) } @files;
	$node->safe_psql('postgres', join '', map { "INSERT INTO $_ SELECT i, 1 + (i % 7 = 0)::integer, test.fp('hot', i) FROM generate_series($round + 601, $round + 1000) i; DELETE FROM $_ WHERE hashint8(id) % 5 = 0; VACUUM $_;\n" } @tables);
	$node->stop;
	my @now = map { read_file($_) } @files;
	my (@what, $foreign);
	foreach my $i (0 .. $#files)
	{
		$foreign = $now[ int rand @now ];
		my $is = $now[$i];
		foreach (1 .. 1 + int rand 4)
		{
			my $kind = (sort keys %kinds)[ int rand keys %kinds ];
			my $at = int rand length($is) / PAGE;
			$kinds{$kind}->(\$is, $at, \$old[$i], \$foreign);
			push @{ $what[$i] }, "$kind $at";
		}
		# What is as before is no damage.
		$damaged += grep { substr($is, $_ * PAGE, PAGE) ne substr($now[$i], $_ * PAGE, PAGE) } 0 .. length($is) / PAGE - 1;
		write_file($files[$i], $is);
	}
	$node->start;
	foreach my $i (0 .. $#tables)
	{
		# A session each: what one has learnt of an index, the next has not.
		my ($ret, $verdict, $stderr) = $node->psql('postgres', "SELECT test.verdict('$tables[$i]')");
		my (undef, undef, $vacuum) = $node->psql('postgres', "DELETE FROM $tables[$i] WHERE id % 2 = 0; VACUUM $tables[$i]", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
		$verdict = "$ret $stderr" if $ret;
		$verdicts{$verdict}++;
		$verdict = "VACUUM: $vacuum" if $verdict =~ /^(unseen|said|found)$/ && $vacuum ne '' && $vacuum !~ /ERROR:  (XX00[12]|0A000)/;
		push @bad, "$tables[$i], round $round, @{ $what[$i] }: $verdict" unless $verdict =~ /^(unseen|said|found)$/;
	}
	$node->safe_psql('postgres', join '', map { "TRUNCATE $_; REINDEX INDEX ${_}_idx;\n" } @tables);
}
is(join("\n", @bad[ 0 .. ($#bad > 9 ? 9 : $#bad) ]), '', "$damaged damaged pages, seed $seed: every answer is right, or an error says so, or banding_check does");
note "$damaged pages of " . $round * COPIES . ' indexes: ' . join ', ', map { "$_ $verdicts{$_}" } sort keys %verdicts;
cmp_ok($verdicts{$_} // 0, '>', 0, "some are $_") foreach 'unseen', 'said';
log_is_clean($node, 'damaged', $log);
$node->stop;
done_testing();
