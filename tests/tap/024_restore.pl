# Protects tables whose generated columns name a corpus and a dictionary: the
# ways of dumping and restoring that docs/recipes.md gives bring everything back
# as it was, whatever the schemas are called; the one that cannot says why.
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

# A database with the extension in one schema and tables in two others, one of which sorts before all.
sub populate
{
	my ($database, $schema) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, qq{
		CREATE SCHEMA IF NOT EXISTS $schema; CREATE SCHEMA archive; CREATE SCHEMA zoo;
		CREATE EXTENSION pg_dedup SCHEMA $schema;
		SELECT $schema.dedup_dictionary_build('own', ARRAY['millbrook 9 nz'], ARRAY['the']);
		SELECT $schema.dedup_corpus_build('petitions', 'SELECT repeat(''water off for '' || n % 50 || '' days. '', 1 + n % 5) FROM generate_series(1, 200) n',
			'{"tokens": "words", "dictionary": "own\@1"}');});
	$node->safe_psql($database, qq{
		CREATE TABLE $_.petition (id int PRIMARY KEY, body text, kept bigint, fp bigint GENERATED ALWAYS AS
			($schema.simhash(body, '{"weight": "tfidf", "corpus": "petitions\@1"}')) STORED);
		CREATE INDEX ON $_.petition ($schema.simhash(body, '{"weight": "tfidf_len", "corpus": "petitions\@1"}'));
		CREATE INDEX ON $_.petition USING banding (fp);
		CREATE TRIGGER kept BEFORE INSERT ON $_.petition FOR EACH ROW EXECUTE FUNCTION
			$schema.simhash_trigger('kept', '{"body": {"stop": "own\@1"}}');
		INSERT INTO $_.petition (id, body) SELECT n, 'the water off in millbrook for ' || n || ' days ' || repeat('again ', n % 7) FROM generate_series(1, 300) n;})
	  for ('archive', 'zoo');
	return;
}

sub state_of
{
	my ($database) = @_;
	return $node->safe_psql($database, q{
		SELECT md5(string_agg(p::text, ',' ORDER BY id)), count(fp), count(DISTINCT fp) FROM archive.petition p;
		SELECT md5(string_agg(p::text, ',' ORDER BY id)) FROM zoo.petition p;
		SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid IN ('archive.petition'::regclass, 'zoo.petition'::regclass) ORDER BY indexrelid::regclass::text;
	}) . $node->safe_psql($database, q{SELECT format('SELECT md5(string_agg(d::text, '','')) FROM %s._dedup_corpus d; SELECT md5(string_agg(d::text, '','')) FROM %1$s._dedup_dictionary d', extnamespace::regnamespace)
		FROM pg_extension WHERE extname = 'pg_dedup' \gexec});
}

sub is_restored
{
	my ($database, $original, $name) = @_;
	is(state_of($database), $original, "$name: everything is as it was");
	is($node->safe_psql($database, "INSERT INTO archive.petition (id, body) VALUES (1000, 'new water'); SELECT fp IS NOT NULL AND kept IS NOT NULL FROM archive.petition WHERE id = 1000"),
		't', "$name: columns and triggers go on");
	return;
}

sub restore
{
	my ($name, $database, @arguments) = @_;
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr($database), @arguments ], $name);
	return;
}

populate('early', '_dedup');
populate('late', 'public');
my %original = map { $_ => state_of($_) } 'early', 'late';
like($original{early}, qr/\|300\|[1-9]\d/, 'the tables are filled');
for my $database ('early', 'late')
{
	$node->command_ok([ 'pg_dump', '-Fp', '-f', "$base/$database.sql", '-d', $node->connstr($database) ], "$database: plain dump");
	$node->command_ok([ 'pg_dump', '-Fd', '-j', '2', '-f', "$base/$database.dir", '-d', $node->connstr($database) ], "$database: directory dump");
	$node->command_ok([ 'pg_dump', '-Fc', '-f', "$base/$database.dump", '-d', $node->connstr($database) ], "$database: custom dump");
}

# The extension in a schema that sorts before those of the tables: nothing to do.
$node->safe_psql('postgres', "CREATE DATABASE e_$_") for ('plain', 'custom', 'sections');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$base/early.sql", '-d', $node->connstr('e_plain') ], 'early: plain restore');
is_restored('e_plain', $original{early}, 'early, plain');
restore('early: custom restore', 'e_custom', "$base/early.dump");
is_restored('e_custom', $original{early}, 'early, custom');
restore("early: $_", 'e_sections', "--section=$_", "$base/early.dump") for ('pre-data', 'data', 'post-data');
is_restored('e_sections', $original{early}, 'early, sections');

# Data alone into tables that are there.
$node->command_ok([ 'pg_dump', '--data-only', '--disable-triggers', '-f', "$base/early.data", '-d', $node->connstr('early') ], 'early: dump of the data');
$node->safe_psql('e_plain', 'TRUNCATE archive.petition, zoo.petition, _dedup._dedup_corpus, _dedup._dedup_dictionary');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$base/early.data", '-d', $node->connstr('e_plain') ], 'early: restore of the data');
is(state_of('e_plain'), $original{early}, 'early, data alone: everything is as it was');

# The extension in public, a table in archive: COPY comes too early and says what it misses.
$node->safe_psql('postgres', "CREATE DATABASE l_$_") for ('straight', 'steps', 'jobs', 'other');
my ($out, $err) = run_command([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('l_straight'), "$base/late.dump" ]);
like($err, qr/unknown corpus|does not exist|no corpus/, 'late: a straight restore names what is missing');

# The order that always works, alone or by four at a time.
for my $case ([ 'l_steps', "$base/late.dump" ], [ 'l_jobs', "$base/late.dir", '--jobs=4' ])
{
	my ($database, $dump, @jobs) = @$case;
	my ($list) = run_command([ 'pg_restore', '--list', $dump ]);
	my @lines = split /\n/, $list;
	my @first = grep { /TABLE DATA \S+ _dedup_(corpus|dictionary) / } @lines;
	is(scalar @first, 2, "$database: two tables come first");
	append_to_file("$base/$database.first", join("\n", @first) . "\n");
	append_to_file("$base/$database.rest", join("\n", grep { !/TABLE DATA \S+ _dedup_(corpus|dictionary) / } @lines) . "\n");
	restore("$database: pre-data", $database, '--section=pre-data', $dump);
	restore("$database: versions", $database, '-L', "$base/$database.first", $dump);
	restore("$database: the rest", $database, @jobs, '--section=data', '--section=post-data', '-L', "$base/$database.rest", $dump);
	is_restored($database, $original{late}, $database);
}

# The extension is there already, in another schema: it is moved to where the dump has it.
$node->safe_psql('l_other', 'CREATE SCHEMA elsewhere; CREATE EXTENSION pg_dedup SCHEMA elsewhere; ALTER EXTENSION pg_dedup SET SCHEMA public');
$node->safe_psql('late', "CREATE SCHEMA _moved; ALTER EXTENSION pg_dedup SET SCHEMA _moved");
is($node->safe_psql('late', "INSERT INTO zoo.petition (id, body) VALUES (1001, 'water again'); SELECT fp IS NOT NULL FROM zoo.petition WHERE id = 1001; DELETE FROM zoo.petition WHERE id = 1001"),
	't', 'a column works after the extension has moved');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$base/moved.dump", '-d', $node->connstr('late') ], 'moved: dump');
$node->safe_psql('postgres', 'CREATE DATABASE m');
restore('moved: restore', 'm', "$base/moved.dump");
is_restored('m', state_of('late'), 'moved');
restore('l_other: pre-data', 'l_other', '--section=pre-data', "$base/late.dump");
is($node->safe_psql('l_other', "SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pg_dedup'"), 'public', 'one that was there serves');

log_is_clean($node, 'restore');
$node->stop;
done_testing();
