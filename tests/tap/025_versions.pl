# Protects corpora and dictionaries among several sessions and users: a version
# that one session drops is an error in all, also where it was in use; only who
# was granted it builds and drops.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('versions');
$node->safe_psql('postgres', q{SELECT dedup_corpus_build('c', 'SELECT ''water off ''::text || n FROM generate_series(1, 20) n', '{"tokens": "words"}');
	SELECT dedup_dictionary_build('d', ARRAY['millbrook'], ARRAY['the']);
	SELECT dedup_dictionary_build('d', ARRAY['ashgate'])});

sub ask
{
	my ($session, $query) = @_;
	${ $session->{out} } = ${ $session->{err} } = '';
	${ $session->{in} } .= "$query;\n\\echo end\n\\warn end\n";
	IPC::Run::pump($session->{run}) until ${ $session->{out} } =~ /end\n/ && ${ $session->{err} } =~ /end\n/;
	return (${ $session->{out} } . ${ $session->{err} }) =~ s/^end\n//gmr;
}

my %use = (
	'corpus c@1' => q{SELECT simhash('water on'::text, '{"weight": "tfidf", "corpus": "c@1"}') IS NOT NULL},
	'dictionary d@1' => q{SELECT simhash('the water'::text, '{"dictionary": "d@1"}') IS NOT NULL});
my $session = session($node, '-v', 'VERBOSITY=terse');
is(ask($session, $use{$_}), "t\n", "$_ is in use") for sort keys %use;

# A drop that is rolled back changes nothing, there or here.
is($node->safe_psql('postgres', q{BEGIN; SELECT dedup_corpus_drop('c@1'); ROLLBACK;} . $use{'corpus c@1'}) =~ s/^\n//r, 't', 'a drop that was rolled back');
is(ask($session, $use{'corpus c@1'}), "t\n", 'is not seen elsewhere');

# In its own transaction a drop counts at once; rolled back to a savepoint, the version is there again.
is(ask($session, 'BEGIN; SAVEPOINT s; SELECT dedup_dictionary_drop(\'d@1\'); SAVEPOINT t;' . $use{'dictionary d@1'} . '; ROLLBACK TO t; SELECT 1; ROLLBACK TO s; ' . $use{'dictionary d@1'} . '; COMMIT')
	=~ s/^.*ERROR:  .*"d\@1".*$/error/mr =~ s/^\n//r, "1\nt\nerror\n", 'dropped within a transaction and rolled back');

for my $name (sort keys %use)
{
	my ($kind, $version) = split ' ', $name;
	$node->safe_psql('postgres', "SELECT dedup_${kind}_drop('$version')");
	like(ask($session, $use{$name}), qr/ERROR: .*$kind.*"$version"/, "$name: an error in the session that had it");
	like(ask($session, $use{$name}), qr/ERROR: .*$kind.*"$version"/, "$name: and again");
}
is(ask($session, q{SELECT simhash('the water'::text, '{"dictionary": "d@2"}') IS NOT NULL}), "t\n", 'another version works on');
finish_session($session);

# An ordinary user reads versions, and builds and drops what was granted.
$node->safe_psql('postgres', q{CREATE ROLE clerk LOGIN; CREATE TABLE secret AS SELECT 'water'::text AS body; GRANT CREATE ON SCHEMA public TO clerk});
sub as_clerk
{
	my ($query) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET ROLE clerk;\n$query");
	return $out . ($err =~ /ERROR:  (\w+)/ ? $1 : '');
}
my $build = q{SELECT dedup_corpus_build('own', 'SELECT ''water off''::text', '{"tokens": "words"}')};
is(as_clerk(q{SELECT count(*) FROM dedup_dictionaries; SELECT simhash('the water'::text, '{"dictionary": "d@2"}') IS NOT NULL}), "1\nt", 'everybody reads and uses versions');
is(as_clerk($build), '42501', 'not granted: no corpus is built');
is(as_clerk(q{SELECT dedup_dictionary_build('own', ARRAY['water'])}), '42501', 'nor a dictionary');
is(as_clerk(q{SELECT dedup_dictionary_drop('d@2')}), '42501', 'nor one dropped');
is(as_clerk(q{INSERT INTO _dedup_corpus SELECT * FROM _dedup_corpus}), '42501', 'nor a row written');
$node->safe_psql('postgres', 'GRANT INSERT ON _dedup_corpus, _dedup_dictionary TO clerk');
is(as_clerk($build), 'own@1', 'granted INSERT: a corpus is built');
is(as_clerk(q{SELECT dedup_corpus_extend('own@1', 'SELECT ''more''::text')}), 'own@2', 'and extended');
is(as_clerk(q{SELECT dedup_dictionary_build('own', ARRAY['water'])}), 'own@1', 'and a dictionary built');
is(as_clerk(q{SELECT dedup_corpus_build('secret', 'SELECT body FROM secret')}), '42501', 'of what the user may read');
is(as_clerk(q{SELECT dedup_corpus_drop('own@1')}), '42501', 'but none dropped');
is(as_clerk(q{CREATE TABLE t (body text, fp bigint GENERATED ALWAYS AS (simhash(body, '{"corpus": "own@2"}')) STORED); INSERT INTO t VALUES ('water off'); SELECT count(fp) FROM t}), '1', 'a column by it');
$node->safe_psql('postgres', 'GRANT UPDATE ON _dedup_corpus TO clerk');
is(as_clerk(q{SELECT dedup_corpus_drop('own@1')}), '', 'granted UPDATE: dropped');
is(as_clerk(q{SELECT dedup_corpus_drop('own@2')}), '2BP01', 'but not one in use');

log_is_clean($node, 'versions');
$node->stop;
done_testing();
