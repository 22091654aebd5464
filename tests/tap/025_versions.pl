# Protects corpora and dictionaries among several sessions and users: a version
# that one session drops is an error in all, also where it was in use; only who
# was granted it builds and drops.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;

my $node = new_node('versions', standby => 1, conf => "wal_level = logical\n");
my ($ret, $err);
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
is($node->safe_psql('postgres', q{BEGIN; SELECT dedup_version_drop('corpus', 'c@1'); ROLLBACK;} . $use{'corpus c@1'}) =~ s/^\n//r, 't', 'a drop that was rolled back');
is(ask($session, $use{'corpus c@1'}), "t\n", 'is not seen elsewhere');

# In its own transaction a drop counts at once; rolled back to a savepoint, the version is there again.
is(ask($session, 'BEGIN; SAVEPOINT s; SELECT dedup_version_drop(\'dictionary\', \'d@1\'); SAVEPOINT t;' . $use{'dictionary d@1'} . '; ROLLBACK TO t; SELECT 1; ROLLBACK TO s; ' . $use{'dictionary d@1'} . '; COMMIT')
	=~ s/^.*ERROR:  .*"d\@1".*$/error/mr =~ s/^\n//r, "1\nt\nerror\n", 'dropped within a transaction and rolled back');

for my $name (sort keys %use)
{
	my ($kind, $version) = split ' ', $name;
	$node->safe_psql('postgres', "SELECT dedup_version_drop('$kind', '$version')");
	like(ask($session, $use{$name}), qr/ERROR: .*$kind.*"$version"/, "$name: an error in the session that had it");
	like(ask($session, $use{$name}), qr/ERROR: .*$kind.*"$version"/, "$name: and again");
}
is(ask($session, q{SELECT simhash('the water'::text, '{"dictionary": "d@2"}') IS NOT NULL}), "t\n", 'another version works on');
finish_session($session);

# An ordinary user computes with versions, and builds and drops what was granted.
$node->safe_psql('postgres', q{CREATE ROLE clerk LOGIN; CREATE ROLE mallory LOGIN; CREATE TABLE secret AS SELECT 'water'::text AS body; GRANT CREATE ON SCHEMA public TO clerk});
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
is(as_clerk(q{SELECT dedup_version_drop('dictionary', 'd@2')}), '42501', 'nor one dropped');
is(as_clerk(q{INSERT INTO _dedup_corpus SELECT * FROM _dedup_corpus}), '42501', 'nor a row written');
$node->safe_psql('postgres', 'GRANT INSERT ON _dedup_corpus, _dedup_dictionary TO clerk');
is(as_clerk($build), 'own@1', 'granted INSERT: a corpus is built');
is($node->safe_psql('postgres', q{SELECT count(*) > 0, bool_and(srvowner = 'pg_database_owner'::regrole) FROM pg_foreign_server}), 't|t', 'what carries it through a dump belongs to the database');
is(as_clerk(q{SELECT count(*) FROM simhash_features('water'::text, '{"corpus": "own@1"}')}), '1', 'who built it sees its words and weights');
is(as_clerk(q{SELECT count(*) FROM simhash_features('water'::text, '{"corpus": "c@1"}')}), '42501', 'not those of what others built');
is(as_clerk(q{CREATE TABLE mine (LIKE _dedup_corpus); CREATE TRIGGER t AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION _dedup_version_carry('corpus')}), '42501', 'nobody else can have such a function made');
is(as_clerk(q{SELECT server FROM dedup_corpora WHERE corpus = 'own@1' \gset
	DROP SERVER :server}), '42501', 'or dropped');
is(as_clerk(q{SELECT server FROM dedup_corpora WHERE corpus = 'own@1' \gset
	GRANT USAGE ON FOREIGN SERVER :server TO mallory}), '', 'who built it grants it');
is(as_clerk(q{INSERT INTO _dedup_corpus (name, version, recipe, documents, tokens, common, single) VALUES ('own', 9, '{}', 3, 1, '\xff', '')}), '42501', 'a row is written past the functions by who reads the table as well');
is(as_clerk(q{SELECT dedup_corpus_build('own@1', 'SELECT ''more''::text')}), 'own@2', 'and extended');
is(as_clerk(q{SELECT dedup_dictionary_build('own', ARRAY['water'])}), 'own@1', 'and a dictionary built');
is(as_clerk(q{SELECT dedup_corpus_build('secret', 'SELECT body FROM secret')}), '42501', 'of what the user may read');
is(as_clerk(q{SELECT dedup_version_drop('corpus', 'own@1')}), '42501', 'but none dropped');
is(as_clerk(q{CREATE TABLE t (body text, fp bigint GENERATED ALWAYS AS (simhash(body, '{"corpus": "own@2"}')) STORED); INSERT INTO t VALUES ('water off'); SELECT count(fp) FROM t}), '1', 'a column by it');
$node->safe_psql('postgres', 'GRANT SELECT, UPDATE ON _dedup_corpus TO clerk');
is(as_clerk(q{UPDATE _dedup_corpus SET documents = 7}), '55000', 'granted UPDATE: no version is changed (F3)');
is(as_clerk(q{UPDATE _dedup_corpus SET common = NULL, single = NULL, dropped = true WHERE name = 'own' AND version = 2}), '2BP01', 'nor marked as dropped while in use');
is(as_clerk(q{SELECT dedup_version_drop('corpus', 'own@1')}), '', 'granted UPDATE: dropped');
is(as_clerk(q{SELECT dedup_version_drop('corpus', 'own@2')}), '2BP01', 'but not one in use');

# Nobody else puts a version in the place of one that is carried through a dump.
$node->safe_psql('postgres', q{CREATE SCHEMA mallory AUTHORIZATION mallory; SELECT dedup_dictionary_build('planted', ARRAY['x'], ARRAY['fire'])});
($ret, undef, $err) = $node->psql('postgres', q{SELECT _dedup_carrier_name('dictionary', 'planted', 2) AS server \gset
	SET ROLE mallory; CREATE SERVER :server FOREIGN DATA WRAPPER _dedup_versions});
like($err, qr/permission denied for foreign-data wrapper/, 'a version is not planted');

# Roles and owners.
is($node->safe_psql('postgres', q{SET ROLE mallory; CREATE TABLE mallory.t (body text, fp bigint GENERATED ALWAYS AS (public.simhash(body, '{"dictionary": "planted@1"}')) STORED);
	INSERT INTO mallory.t VALUES ('water'); SELECT count(fp) FROM mallory.t}), '1', 'any role uses any version');
$node->safe_psql('postgres', 'ALTER ROLE clerk RENAME TO clark; DROP OWNED BY mallory CASCADE; DROP ROLE mallory');
is($node->safe_psql('postgres', q{SET ROLE clark; SELECT dedup_corpus_build('own@2', 'SELECT ''even more''::text')}), 'own@3', 'a renamed role builds on');
$node->safe_psql('postgres', 'DROP OWNED BY clark CASCADE; DROP ROLE clark');
is($node->safe_psql('postgres', q{SELECT simhash('water'::text, '{"corpus": "own@3"}') IS NOT NULL; SELECT count(*) FROM pg_foreign_server WHERE srvname = _dedup_carrier_name('corpus', 'own', 3)}), "t\n1", 'what it built outlives it');

# An ordinary role cannot keep others from building. What it can lock: every
# advisory lock of the old names, and what SELECT allows on the tables.
$node->safe_psql('postgres', 'CREATE ROLE blocker LOGIN');
$session = session($node, '-v', 'VERBOSITY=terse');
ask($session, q{SET ROLE blocker; SELECT pg_advisory_lock(hashtextextended('pg_dedup corpus b', 0)), pg_advisory_lock(hashtextextended('pg_dedup dictionary b', 0));
	BEGIN; SELECT count(*) FROM dedup_corpora, dedup_dictionaries});
is($node->safe_psql('postgres', q{SET statement_timeout = '10s'; SELECT dedup_corpus_build('b', 'SELECT ''water''::text'); SELECT dedup_dictionary_build('b', ARRAY['water'])}), "b\@1\nb\@1", 'a bystander does not block a build');
like(ask($session, 'LOCK TABLE _dedup_corpus IN ACCESS SHARE MODE'), qr/permission denied/, 'nor can lock more');
finish_session($session);

# Two builds of one name at a time: two numbers. If the first is rolled back, its number is the second's.
for my $end ('COMMIT', 'ROLLBACK')
{
	$session = session($node);
	my $other = session($node);
	ask($session, q{BEGIN; SELECT dedup_dictionary_build('b', ARRAY['first'])});
	${ $other->{out} } = '';
	${ $other->{in} } .= "SELECT dedup_dictionary_build('b', ARRAY['second']);\n\\echo end\n\\warn end\n";
	$other->{run}->pump_nb;
	ok(wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $other->{pid} AND wait_event_type = 'Lock'"), "$end: the second waits");
	ask($session, $end);
	IPC::Run::pump($other->{run}) until ${ $other->{out} } =~ /end\n/;
	is(${ $other->{out} } =~ s/end\n//r, $end eq 'COMMIT' ? "b\@3\n" : "b\@4\n", "$end: the next number");
	finish_session($_) for ($session, $other);
}
is($node->safe_psql('postgres', q{SELECT string_agg(version || ':' || words, '' ORDER BY version) FROM _dedup_dictionary WHERE name = 'b'}) =~ tr/\n//dr =~ s/ \d+ //gr,
	'1:water2:first3:second4:second', 'each with its own words');

# A standby reads versions, and sees when one is dropped.
$node->safe_psql('postgres', q{SELECT dedup_corpus_build('s', 'SELECT ''water off ''::text || n FROM generate_series(1, 20) n', '{"tokens": "words"}')});
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('versions_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
my $of_s = q{SELECT simhash('water on'::text, '{"weight": "tfidf", "corpus": "s@1"}')};
is($standby->safe_psql('postgres', $of_s), $node->safe_psql('postgres', $of_s), 'a standby computes the same');
$session = session($standby, '-v', 'VERBOSITY=terse');
ask($session, $of_s);
$node->safe_psql('postgres', q{SELECT dedup_version_drop('corpus', 's@1')});
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
like(ask($session, $of_s), qr/there is no corpus "s\@1"/, 'and forgets what was dropped');
finish_session($session);
$standby->stop;

# A subscriber receives versions, keeps them as they are, carries them through
# its own dumps, and follows a drop.
$node->safe_psql('postgres', 'CREATE DATABASE publisher');
$node->safe_psql('postgres', 'CREATE DATABASE subscriber');
$node->safe_psql('publisher', q{CREATE EXTENSION pg_dedup; SELECT dedup_dictionary_build('first', ARRAY['water']);
	CREATE PUBLICATION p FOR TABLE _dedup_corpus, _dedup_dictionary; SELECT pg_create_logical_replication_slot('p', 'pgoutput')});
$node->safe_psql('subscriber', 'CREATE EXTENSION pg_dedup');
my $publisher = $node->connstr('publisher') =~ s/'/''/gr;
$node->safe_psql('subscriber', "CREATE SUBSCRIPTION s CONNECTION '$publisher' PUBLICATION p WITH (create_slot = false, slot_name = 'p')");

sub arrives
{
	my ($query, $wanted, $name) = @_;
	my $found = '';
	for (1 .. 300)
	{
		$found = $node->safe_psql('subscriber', $query);
		last if $found eq $wanted;
		Time::HiRes::usleep(100_000);
	}
	return is($found, $wanted, $name);
}
my $known = q{SELECT coalesce(string_agg(dictionary, ' ' ORDER BY dictionary), '') FROM dedup_dictionaries};
arrives($known, 'first@1', 'a subscriber copies versions');
$node->safe_psql('publisher', q{SELECT dedup_dictionary_build('next', ARRAY['millbrook'], ARRAY['the'])});
arrives($known, 'first@1 next@1', 'and receives new ones');
my $by_next = q{SELECT simhash('the water in millbrook'::text, '{"dictionary": "next@1", "tokens": "words"}')};
is($node->safe_psql('subscriber', $by_next), $node->safe_psql('publisher', $by_next), 'which make the same fingerprints');
is($node->safe_psql('subscriber', q{SELECT count(*) FROM pg_foreign_server WHERE srvname = _dedup_carrier_name('dictionary', 'next', 1)}), '1', 'and are carried through a dump');
($ret, undef, $err) = $node->psql('subscriber', q{UPDATE _dedup_dictionary SET stop_words = ''});
like($err, qr/cannot be changed/, 'and cannot be changed there');
$node->safe_psql('publisher', q{SELECT dedup_version_drop('dictionary', 'next@1')});
arrives($known, 'first@1', 'a drop arrives');
$node->safe_psql('subscriber', 'ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s');

log_is_clean($node, 'versions');
$node->stop;
done_testing();
