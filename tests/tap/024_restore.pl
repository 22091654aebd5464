# Protects dumps of tables whose columns, indexes, constraints and triggers name
# corpora and dictionaries: restored by psql, pg_restore, and pg_restore
# with several jobs, with nothing to do by hand, wherever the extension and the
# tables are.
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('restore');
my $base = $node->basedir;
my @schemas = ('app', 'public', 'zoo');

# A database with the extension in one schema and the same tables in three.
sub populate
{
	my ($database, $schema) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, join "\n", "CREATE SCHEMA IF NOT EXISTS $schema;", map { "CREATE SCHEMA IF NOT EXISTS $_;" } @schemas);
	$node->safe_psql($database, qq{
		CREATE EXTENSION pg_dedup SCHEMA $schema;
		SELECT $schema.dedup_dictionary_build('own', ARRAY['millbrook 9 nz', 'cd 3 x'], ARRAY['the', '\$version\$', E'back\\\\slash', 'quo''te']);
		SELECT $schema.dedup_dictionary_build('gone', ARRAY['gone']);
		SELECT $schema.dedup_version_drop('dictionary', 'gone\@1');
		SELECT $schema.dedup_corpus_build('petitions', 'SELECT repeat(''water off for '' || n % 50 || '' days. '', 1 + n % 5) FROM generate_series(1, 200) n',
			'{"tokens": "words", "dictionary": "own\@1"}');});
	for my $tables (@schemas)
	{
		$node->safe_psql($database, qq{
			SET search_path = $schema, public;
			CREATE DOMAIN $tables.printable AS text CHECK ($schema.simhash(VALUE, '{"stop": "own\@1"}') IS NOT NULL);
			CREATE TABLE $tables.petition (id int PRIMARY KEY, body text, title $tables.printable, kept bigint,
				fp bigint GENERATED ALWAYS AS ($schema.simhash(body, '{"weight": "tfidf", "corpus": "petitions\@1"}')) STORED,
				CHECK ($schema.simhash(body, '{"dictionary": "own\@1"}') IS NOT NULL));
			CREATE INDEX ON $tables.petition ($schema.simhash(body, '{"weight": "tfidf_len", "corpus": "petitions\@1"}'));
			CREATE INDEX ON $tables.petition USING banding (fp);
			CREATE TRIGGER kept BEFORE INSERT ON $tables.petition FOR EACH ROW EXECUTE FUNCTION
				$schema.simhash_trigger('kept', '{"body": {"stop": "own\@1"}}');
			INSERT INTO $tables.petition (id, body, title) SELECT n, 'the water off in millbrook for ' || n || ' days ' || repeat('again ', n % 7), 'water' FROM generate_series(1, 300) n;
			CREATE TABLE $tables.guarded (id int PRIMARY KEY, body text,
				fp bigint GENERATED ALWAYS AS ($schema.simhash(body, '{"dictionary": "own\@1"}')) STORED);
			CREATE INDEX ON $tables.guarded USING banding (fp);
			CREATE TRIGGER guard AFTER INSERT OR UPDATE ON $tables.guarded FOR EACH ROW EXECUTE FUNCTION $schema.near_dup_guard('fp', 'distance=3');
			INSERT INTO $tables.guarded VALUES (1, 'no light in the street'), (2, 'the school was closed in summer');
			CREATE TABLE $tables.split (id int, body text) PARTITION BY LIST ($schema.simhash(body, '{"dictionary": "own\@1"}'));
			CREATE TABLE $tables.split_rest PARTITION OF $tables.split DEFAULT;
			INSERT INTO $tables.split SELECT id, body FROM $tables.petition;
			CREATE MATERIALIZED VIEW $tables.prints AS SELECT id, $schema.simhash(body, '{"weight": "tfidf", "corpus": "petitions\@1"}') AS fp FROM $tables.petition;});
		$node->safe_psql($database, qq{SET search_path = $schema, public; CALL $schema.dedup_into('$tables.groups', 'SELECT id, body FROM $tables.petition', '{"recipe": {"weight": "tfidf", "corpus": "petitions\@1"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}')});
	}
	return;
}

# Everything that must be as it was.
sub state_of
{
	my ($database) = @_;
	return $node->safe_psql($database, (join '', map { qq{
		SELECT '$_', md5(string_agg(p::text, ',' ORDER BY id)), count(fp), count(DISTINCT fp) FROM $_.petition p;
		SELECT md5(string_agg(p::text, ',' ORDER BY id)) FROM $_.guarded p;
		SELECT md5(string_agg(p::text, ',' ORDER BY id)) FROM $_.prints p;
		SELECT md5(string_agg(p::text, ',' ORDER BY id)), count(*) FROM $_.split p;
		SELECT md5(string_agg(p::text, ',' ORDER BY id)), count(*) FROM $_.groups p;
		SELECT source, options FROM $_.groups_state;} } @schemas) . q{
		SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid::regclass::text ~ 'petition|guarded|groups' ORDER BY indexrelid::regclass::text;
		SELECT s.srvname, md5(m.umoptions::text), s.srvowner::regrole, s.srvacl, obj_description(s.oid, 'pg_foreign_server') FROM pg_user_mappings m JOIN pg_foreign_server s ON s.oid = m.srvid ORDER BY 1;})
	  . $node->safe_psql($database, q{SELECT format('SELECT md5(string_agg(d::text, '','' ORDER BY name, version)) FROM %s._dedup_corpus d; SELECT md5(string_agg(d::text, '','' ORDER BY name, version)), count(*) FROM %1$s._dedup_dictionary d', extnamespace::regnamespace)
		FROM pg_extension WHERE extname = 'pg_dedup' \gexec});
}

sub is_restored
{
	my ($database, $schema, $original, $name) = @_;
	is(state_of($database), $original, "$name: everything is as it was");
	is($node->safe_psql($database, qq{SET search_path = $schema, public;
		INSERT INTO app.petition (id, body, title) VALUES (1000, 'new water', 'water');
		SELECT fp IS NOT NULL AND kept IS NOT NULL FROM app.petition WHERE id = 1000}), 't', "$name: columns and triggers go on");
	my ($ret, undef, $err) = $node->psql($database, qq{SET search_path = $schema, public; INSERT INTO zoo.guarded VALUES (3, 'the school was closed in summer')});
	ok($ret != 0 && $err =~ /near/, "$name: the guard goes on");
	is($node->safe_psql($database, qq{SET search_path = $schema, public; CALL dedup_into('app.groups', 'SELECT id, body FROM app.petition', '{"recipe": {"weight": "tfidf", "corpus": "petitions\@1"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
		SELECT count(*) FROM app.groups; SELECT dedup_dictionary_build('gone', ARRAY['gone'])}), "301\ngone\@2", "$name: the result goes on, and a number does not come again");
	return;
}

sub restore
{
	my ($name, $database, @arguments) = @_;
	return $node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr($database), @arguments ], $name);
}

my %original;
for my $schema ('public', 'aaa', 'zzz')
{
	my $from = "in_$schema";
	populate($from, $schema);
	my $original = $original{$schema} = state_of($from);
	like($original, qr/\|300\|[1-9]\d/, "$from: the tables are filled");
	$node->command_ok([ 'pg_dump', @{ $_->[0] }, '-f', "$base/$from.$_->[1]", '-d', $node->connstr($from) ], "$from: dump, $_->[1]")
	  for ([ ['-Fp'], 'sql' ], [ ['-Fc'], 'dump' ], [ [ '-Fd', '-j', '2' ], 'dir' ]);
	$node->safe_psql('postgres', "CREATE DATABASE ${from}_$_") for ('psql', 'straight', 'jobs', 'dir', 'sections');
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$base/$from.sql", '-d', $node->connstr("${from}_psql") ], "$from: psql");
	restore("$from: pg_restore", "${from}_straight", "$base/$from.dump");
	restore("$from: pg_restore -j4", "${from}_jobs", '-j', '4', "$base/$from.dump");
	restore("$from: pg_restore -j4 of a directory", "${from}_dir", '-j', '4', "$base/$from.dir");
	restore("$from: $_ alone", "${from}_sections", "--section=$_", "$base/$from.dump") for ('pre-data', 'data', 'post-data');
	is_restored("${from}_$_", $schema, $original, "$from, $_") for ('psql', 'straight', 'jobs', 'dir', 'sections');
	# Whoever has a dump cannot tell what guards publish.
	unlike(slurp_file("$base/$from.sql"), qr/_dedup_secret/, "$from: the secret is not dumped");
	my $secret = "SELECT secret FROM $schema._dedup_secret";
	isnt($node->safe_psql("${from}_straight", $secret), $node->safe_psql($from, $secret), "$from: a restored database has a secret of its own");
	# Over what is there.
	restore("$from: --clean", "${from}_jobs", '-j', '4', '--clean', '--if-exists', "$base/$from.dump");
	is(state_of("${from}_jobs"), $original, "$from, --clean: everything is as it was");
}

# Definitions first, then data alone, in one transaction; and once more the
# versions that are there already, with triggers on.
$node->safe_psql('postgres', 'CREATE DATABASE two_steps');
restore('definitions', 'two_steps', '--schema-only', "$base/in_public.dump");
is($node->safe_psql('two_steps', q{SELECT count(*) FROM _dedup_corpus; SELECT simhash('water'::text, '{"corpus": "petitions@1"}') IS NOT NULL}), "0\nt", 'a version works before its row is there');
my ($ret, undef, $err) = $node->psql('two_steps', q{SELECT dedup_version_drop('corpus', 'petitions@1')});
like($err, qr/has not been restored completely/, 'but is not dropped');
($ret, undef, $err) = $node->psql('two_steps', q{SELECT dedup_corpus_build('petitions@1', 'SELECT ''water''::text')});
like($err, qr/has not been restored completely/, 'nor extended');
($ret, undef, $err) = $node->psql('two_steps', q{SELECT dedup_dictionary_build('own', ARRAY['other'])});
like($err, qr/dictionary "own\@1" differs from what server .* carries/, 'nor is its number given to other content');
restore('data alone', 'two_steps', '--data-only', '--disable-triggers', '--single-transaction', "$base/in_public.dump");
is($node->safe_psql('two_steps', q{SELECT count(*) FILTER (WHERE fp IS NOT NULL) FROM app.petition; REFRESH MATERIALIZED VIEW app.prints; REFRESH MATERIALIZED VIEW public.prints; REFRESH MATERIALIZED VIEW zoo.prints}), '300', 'generated columns are computed');
is(state_of('two_steps'), $original{public}, 'definitions, then data: everything is as it was');
restore('the versions again', 'in_public', '--data-only', '-t', '_dedup_corpus', '-t', '_dedup_dictionary', "$base/in_public.dump");
is(state_of('in_public'), $original{public}, 'changes nothing');

# A dump of one schema has no versions, and the error says so.
$node->safe_psql('postgres', 'CREATE DATABASE partial');
$node->safe_psql('partial', 'CREATE EXTENSION pg_dedup');
$node->command_ok([ 'pg_dump', '-Fc', '-n', 'app', '-f', "$base/app.dump", '-d', $node->connstr('in_public') ], 'dump of a schema');
my (undef, $stderr) = run_command([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('partial'), "$base/app.dump" ]);
like($stderr, qr/there is no (corpus|dictionary).*A dump of the whole database brings versions along/s, 'names the way out');

# The extension moves to another schema while versions are in use.
$node->safe_psql('in_zzz', 'CREATE SCHEMA moved; ALTER EXTENSION pg_dedup SET SCHEMA moved');
is($node->safe_psql('in_zzz', q{INSERT INTO zoo.petition (id, body, title) VALUES (1001, 'water again', 'water'); SELECT fp IS NOT NULL FROM zoo.petition WHERE id = 1001;
	DELETE FROM zoo.petition WHERE id = 1001;
	SELECT moved.dedup_dictionary_build('own', ARRAY['moved'])}), "t\nown\@2", 'columns and functions work after the move');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$base/moved.dump", '-d', $node->connstr('in_zzz') ], 'moved: dump');
$node->safe_psql('postgres', 'CREATE DATABASE moved');
restore('moved: restore', 'moved', '-j', '4', "$base/moved.dump");
is(state_of('moved'), state_of('in_zzz'), 'moved: everything is as it was');

# Versions of megabytes.
$node->safe_psql('postgres', 'CREATE DATABASE large');
$node->safe_psql('large', q{CREATE EXTENSION pg_dedup;
	SELECT dedup_corpus_build('large', 'SELECT string_agg(''w'' || (n * 7919 + w) % 400000, '' '') FROM generate_series(1, 20000) n, generate_series(1, 100) w GROUP BY n', '{"tokens": "words"}');
	SELECT dedup_dictionary_build('large', ARRAY(SELECT 'word' || n || ' 3 nz' FROM generate_series(1, 200000) n));
	CREATE TABLE t (body text, fp bigint GENERATED ALWAYS AS (simhash(body, '{"tokens": "words", "dictionary": "large@1"}')) STORED,
		weighed bigint GENERATED ALWAYS AS (simhash(body, '{"weight": "tfidf", "corpus": "large@1"}')) STORED);
	INSERT INTO t VALUES ('w15 w26 w999999'), ('word17 word18')});
cmp_ok($node->safe_psql('large', 'SELECT length(common) FROM _dedup_corpus'), '>', 1_000_000, 'a corpus of megabytes');
$node->command_ok([ 'pg_dump', '-Fd', '-f', "$base/large.dir", '-d', $node->connstr('large') ], 'large: dump');
$node->safe_psql('postgres', 'CREATE DATABASE large_again');
restore('large: restore', 'large_again', '-j', '4', "$base/large.dir");
is($node->safe_psql('large_again', 'TABLE t'), $node->safe_psql('large', 'TABLE t'), 'large: the same fingerprints');

# The owner of a database, who is no superuser, dumps and restores it: versions that others built, and what was granted.
$node->safe_psql('postgres', 'CREATE ROLE keeper LOGIN; CREATE ROLE guest LOGIN; CREATE DATABASE kept OWNER keeper; CREATE DATABASE kept_again OWNER keeper');
$node->safe_psql($_, 'CREATE EXTENSION pg_dedup') for ('kept', 'kept_again');
my @keeper = (extra_params => [ '-U', 'keeper' ]);
my $letters = q{SELECT dedup_corpus_build('letters', 'SELECT ''water off ''::text || n FROM generate_series(1, 20) n', '{"tokens": "words"}')};
$node->safe_psql('kept', q{SELECT dedup_dictionary_build('theirs', ARRAY['millbrook'], ARRAY['secret']);
	SELECT format('GRANT USAGE ON FOREIGN SERVER %I TO guest', server) FROM dedup_dictionaries \gexec});
$node->safe_psql('kept', qq{$letters; CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO guest;
	CREATE TABLE app.letter (id int PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash(body, '{"weight": "tfidf", "corpus": "letters\@1", "stop": "theirs\@1"}')) STORED);
	GRANT SELECT, INSERT ON app.letter TO guest;
	INSERT INTO app.letter SELECT n, 'the secret water is off on day ' || n FROM generate_series(1, 50) n; SELECT dedup_setup('app.letter', '{"columns": "body", "fp": "mark"}')}, @keeper);
my $kept = sub { $node->safe_psql(shift, q{SELECT md5(string_agg(l::text, ',' ORDER BY id)), count(fp) FROM app.letter l; SELECT tbl, version, fp FROM dedup_settings;
	SELECT s.srvname, m.umoptions, array(SELECT split_part(a::text, '/', 1) FROM unnest(s.srvacl) a WHERE a::text ~ '^guest') FROM pg_user_mappings m JOIN pg_foreign_server s ON s.oid = m.srvid ORDER BY 1}, @keeper) };
like($kept->('kept'), qr/\|50\napp\.letter\|1\|mark\n.*secret.*guest=U/s, 'a database of its owner is filled');
$node->command_ok([ 'pg_dump', '-U', 'keeper', '-Fc', '-f', "$base/kept.dump", '-d', $node->connstr('kept') ], 'its owner dumps it');
restore('its owner restores it', 'kept_again', '-U', 'keeper', '--no-owner', '--no-comments', "$base/kept.dump");
is($kept->('kept_again'), $kept->('kept'), 'everything is as it was, for its owner');
my @guest = (extra_params => [ '-U', 'guest' ]);
is($node->safe_psql('kept_again', q{INSERT INTO app.letter (id, body) VALUES (100, 'the water is on'); SELECT fp IS NOT NULL FROM app.letter WHERE id = 100;
	SELECT count(*) FROM simhash_features('the secret water'::text, '{"tokens": "words", "stop": "theirs@1"}')}, @guest), "t\n2", 'who may write rows has their fingerprints, and sees what was granted');
($ret, undef, $err) = $node->psql('kept_again', q{SELECT * FROM simhash_features('the water'::text, '{"corpus": "letters@1"}')}, @guest);
like($err, qr/permission denied to see words or weights of corpus "letters\@1"/, 'and nothing else');
$node->safe_psql('kept_again', q{SELECT dedup_dictionary_build('mine', ARRAY['x']); SELECT dedup_version_drop('dictionary', 'mine@1'); GRANT INSERT ON _dedup_corpus TO guest}, @keeper);
is($node->safe_psql('kept_again', $letters, @guest), 'letters@2', 'the owner lets others build');
($ret, undef, $err) = $node->psql('kept_again', 'SELECT * FROM _dedup_corpus', @guest);
like($err, qr/permission denied for table _dedup_corpus/, 'nor the table');

log_is_clean($node, 'restore');
$node->stop;
done_testing();
