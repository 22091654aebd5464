# Protects memory: a function that reads a query takes the memory of a row, not
# of all the rows.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no /proc' unless -w "/proc/$$/clear_refs";

my $node = new_node('query_memory', conf => "work_mem = '4MB'\n");
# 150 MB of few words, which take little room on disk.
$node->safe_psql('postgres', q{CREATE TABLE body AS SELECT i AS id, test.random_fp(i) AS fp,
	repeat('word' || i % 100 || ' ', 500) AS content FROM generate_series(1, 40000) i});

my %call = (
	'dedup_corpus_build' => q{SELECT dedup_corpus_build('c', 'SELECT content FROM body')},
	'dedup_suggest' => q{SELECT method FROM dedup_suggest('SELECT content FROM body')},
	'dedup_evaluate' => q{SELECT count(*) FROM dedup_evaluate('SELECT left(content, 6), left(content, 7) FROM body', 'SELECT ''a'', ''b'' FROM body')},
	'near_dup_calibrate' => q{SELECT count(*) FROM near_dup_calibrate('SELECT left(content, 4) || id, fp FROM body')},
	'near_dup_pairs' => q{SELECT count(*) FROM near_dup_pairs('SELECT id, fp FROM body WHERE length(content) > 0')},
	'near_dup_groups' => q{SELECT count(*) FROM near_dup_groups('SELECT id, id + 1, content FROM body WHERE length(content) > 0')},
	'near_dup_pairs by text' => q{SELECT count(*) FROM near_dup_pairs('SELECT id, left(content, 60) FROM body WHERE id < 2000', '{"method": "text", "similarity": 1}')},
	'dedup' => q{SELECT count(*) FROM dedup('SELECT id, content FROM body', '{"method": "exact"}')});
foreach my $name (sort keys %call)
{
	my $session = session($node);
	my $ask = sub {
		${ $session->{out} } = '';
		${ $session->{in} } .= "$_[0];\n\\echo end\n";
		IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /^end\n/m;
	};
	my $peak = sub { (slurp_file("/proc/$session->{pid}/status") =~ /VmHWM:\s+(\d+) kB/)[0] };
	# What all sessions share, the dictionary, and caches.
	$ask->('SELECT sum(length(content)), count(simhash($$停水$$)) FROM body');
	append_to_file("/proc/$session->{pid}/clear_refs", "5\n");
	my $before = $peak->();
	$ask->($call{$name});
	# It keeps a sample of 64 MB and as much of n-grams.
	my $most = $name eq 'dedup_suggest' ? 190_000 : 90_000;
	cmp_ok($peak->() - $before, '<', $most, "$name: the peak of the session's memory grows little");
	unlike(finish_session($session), qr/ERROR|FATAL/, "$name: no error");
}
log_is_clean($node, 'query memory');
$node->stop;
done_testing();
