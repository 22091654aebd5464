# Protects upgrades: a filled database of each released version (tests/upgrade/VERSION) and of this one becomes, by ALTER EXTENSION
# UPDATE, one with the catalogue of a fresh installation and everything stored usable. The released scripts and the
# installed ones lie side by side in a relocated copy of the installation, so nothing is written into the real one.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use File::Basename;
use File::Copy;
use File::Path qw(make_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $fixtures = "$FindBin::Bin/../upgrade";
my @extensions = ('pg_dedup', 'pg_dedup_papers');
my ($catalogue, $state) = map { slurp_file("$fixtures/$_.sql") } ('catalogue', 'state');

# PostgreSQL finds its files relative to the directory of its programs: programs are copied, the rest are links, and
# only the directory of extensions is one of our own.
my %dir = map { chomp(my $dir = `pg_config --$_`); ($_ => $dir) } ('bindir', 'sharedir', 'pkglibdir', 'libdir');
my $common = $dir{bindir};
$common =~ s{/[^/]*$}{} until grep({ index("$_/", "$common/") == 0 } @dir{ 'bindir', 'sharedir', 'pkglibdir' }) == 3;
my $copy = PostgreSQL::Test::Utils::tempdir;
my ($bin, $share, $lib) = map { $copy . substr($dir{$_}, length $common) } ('bindir', 'sharedir', 'pkglibdir');
make_path($bin, "$share/extension", dirname($lib));
for my $program ('postgres', 'initdb', 'pg_ctl', 'psql', 'pg_config')
{
	copy("$dir{bindir}/$program", "$bin/$program") or die "$program: $!";
	chmod 0755, "$bin/$program";
}
symlink $dir{pkglibdir}, $lib;
symlink $_, "$share/" . basename($_) for grep { basename($_) ne 'extension' } glob "$dir{sharedir}/*";
symlink $_, "$share/extension/" . basename($_) for glob "$dir{sharedir}/extension/*";

sub write_file
{
	my ($name, $text) = @_;
	unlink "$share/extension/$name";
	PostgreSQL::Test::Utils::append_to_file("$share/extension/$name", $text);
	return;
}

my $node = PostgreSQL::Test::Cluster->new('upgrade', install_path => dirname($bin));
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "fsync = off\njit = off");
$node->start;
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name LIKE 'pg\\_dedup%'"), '2', 'the copy of the installation works');
my $present = $node->safe_psql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'pg_dedup'");

# A database with both extensions, of a version and in a schema.
sub database
{
	my ($name, $version) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, join '', map { "CREATE EXTENSION $_ VERSION '$version';" } @extensions);
	return;
}

sub update
{
	my ($name, $version) = @_;
	return $node->psql($name, 'SET client_min_messages = warning;' . join('', map { "ALTER EXTENSION $_ UPDATE TO '$version';" } @extensions), on_error_stop => 1);
}

sub versions { return $node->safe_psql(shift, q{SELECT DISTINCT extversion FROM pg_extension WHERE extname LIKE 'pg\_dedup%'}); }

# Lines of the catalogue that one database has and the other does not.
sub differences
{
	my ($fresh, $updated) = map { [ split /\n/, $node->safe_psql($_, $catalogue) ] } @_;
	my (%fresh, %updated);
	@fresh{@$fresh} = (); @updated{@$updated} = ();
	return map({ "missing: $_" } grep { !exists $updated{$_} } @$fresh), map({ "too much: $_" } grep { !exists $fresh{$_} } @$updated);
}

sub refused
{
	my ($database, $statement, $pattern, $name) = @_;
	my ($ret, undef, $stderr) = $node->psql($database, $statement);
	return ok($ret != 0 && $stderr =~ $pattern, $name) || diag($stderr);
}

database('fresh', $present);
cmp_ok(scalar split(/\n/, $node->safe_psql('fresh', $catalogue)), '>', 300, 'the catalogue is read');

# What was released lies under tests/upgrade/VERSION, and does not change.
for my $version (map { basename($_) } glob "$fixtures/[0-9]*")
{
	for my $script (map { "$_--$version.sql" } @extensions)
	{
		my $frozen = slurp_file("$fixtures/$version/$script");
		ok($frozen eq slurp_file("$dir{sharedir}/extension/$script"), "$script is as it was released")
		  or diag("Version $version was released with another $script. Give Cargo.toml the next version and write sql/upgrade/.")
		  if $version eq $present;
		write_file($script, $frozen);
	}
	upgrade_filled("from_$version" =~ tr/./_/r, $version, $present, 'fresh');
}

# A filled database of one version becomes one of another, with the catalogue of the database `like`, and goes on.
sub upgrade_filled
{
	my ($database, $version, $to, $like) = @_;
	database($database, $version);
	$node->safe_psql($database, slurp_file("$fixtures/fill.sql"));
	my $before = $node->safe_psql($database, $state);
	my ($ret, undef, $stderr) = update($database, $to);
	is($stderr . $ret, '0', "$version: ALTER EXTENSION UPDATE") or return;
	is(versions($database), $to, "$version: to $to");
	is(join("\n", differences($like, $database)), '', "$version: the catalogue is that of a fresh installation");
	is($node->safe_psql($database, $state), $before, "$version: everything stored is as it was");

	# And goes on.
	is($node->safe_psql($database, q{
		INSERT INTO petition (id, title, body) VALUES (1000, 'water 7', 'no water in millbrook since sunday');
		SELECT fp = simhash(body) AND own IS NOT NULL AND kept = simhash(p, '{"title": 2, "body": "tf"}') FROM petition p WHERE id = 1000;
		SET enable_seqscan = off;
		SELECT count(*) FROM petition WHERE fp <@ hamming_ball(simhash('no water in millbrook since sunday'), 0);
		REFRESH MATERIALIZED VIEW explained; REINDEX TABLE petition;
		SELECT banding_check('petition_fp', true)}), "t\n1\n", "$version: columns, triggers and indexes go on");
	refused($database, 'INSERT INTO guarded VALUES (3, 1)', qr/near/, "$version: the guard goes on");
	refused($database, 'INSERT INTO exclusive VALUES (3, 1)', qr/exclusive_near/, "$version: the exclusion constraint goes on");
	refused($database, q{SELECT dedup_version_drop('dictionary', 'own@1')}, qr/own\@1/, "$version: a version in use is not dropped");
	is($node->safe_psql($database, q{CALL dedup_into('result', 'SELECT id, body FROM petition'); SELECT count(*) FROM result;
		SELECT dedup_dictionary_build('gone', ARRAY['gone']), dedup_corpus_build('petitions@1', 'SELECT ''a road''')}),
		"301\ngone\@2|petitions\@2", "$version: a result and versions go on");
	return;
}

# The test can fail: a next version whose upgrade script lacks one thing after the other.
my $next = '99.0';
my %addition = (
	'a function' => q{CREATE FUNCTION added(integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN $1;},
	'a comment' => q{COMMENT ON FUNCTION hamming(bigint, bigint) IS 'another';},
	'a change of volatility' => q{ALTER FUNCTION near_dup_bands(bigint, integer, integer) STABLE;},
	'an operator' => q{CREATE OPERATOR <~~> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hamming);},
	'an operator of the class' => q{ALTER OPERATOR FAMILY bigint_hamming_ops USING banding ADD OPERATOR 2 <> (bigint, integer);},
	'a privilege' => q{REVOKE EXECUTE ON FUNCTION banding_check(regclass, boolean) FROM PUBLIC;},
	'a cast' => q{CREATE CAST (hamming_ball AS text) WITH INOUT;},
	'a column' => q{ALTER TABLE dedup_settings ADD added integer;},
	'a dumped table' => q{CREATE TABLE added (); SELECT pg_catalog.pg_extension_config_dump('added', '');});
my %script = map { ($_ => slurp_file("$dir{sharedir}/extension/$_--$present.sql")) } @extensions;
write_file("pg_dedup_papers--$next.sql", $script{pg_dedup_papers});
write_file("pg_dedup_papers--$present--$next.sql", '');
write_file("pg_dedup--$next.sql", join "\n", $script{pg_dedup}, map { $addition{$_} } sort keys %addition);
database('next', $next);
my $number = 0;
for my $left_out ('', sort keys %addition)
{
	write_file("pg_dedup--$present--$next.sql", join "\n", map { $addition{$_} } grep { $_ ne $left_out } sort keys %addition);
	if ($left_out eq '')
	{
		upgrade_filled('complete', $present, $next, 'next');
		next;
	}
	my $database = 'to_next_' . $number++;
	database($database, $present);
	my ($ret, undef, $stderr) = update($database, $next);
	is($stderr . $ret, '0', "an upgrade script without $left_out runs");
	my @found = differences('next', $database);
	cmp_ok(scalar @found, '>', 0, 'and is found') && note(@found);
}

# What cannot be carried over says so and destroys nothing.
write_file("pg_dedup--$present--$next.sql", <<'SQL');
COMMENT ON FUNCTION hamming(bigint, bigint) IS 'another';
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_am a ON a.oid = c.relam WHERE a.amname = 'banding') THEN
        RAISE EXCEPTION 'indexes of another format' USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Drop them before the upgrade.';
    END IF;
END $$;
SQL
{
	my $database = 'refused';
	database($database, $present);
	$node->safe_psql($database, slurp_file("$fixtures/fill.sql"));
	my ($before, $lines) = ($node->safe_psql($database, $state), join "\n", differences('fresh', $database));
	my (undef, undef, $stderr) = update($database, $next);
	like($stderr, qr/indexes of another format.*HINT:  Drop them before the upgrade/s, 'an upgrade that is refused says why');
	is(versions($database), $present, 'leaves the version');
	is(join("\n", differences('fresh', $database)), $lines, 'the catalogue');
	is($node->safe_psql($database, $state), $before, 'and everything stored');
}

log_is_clean($node, 'upgrade');
$node->stop;
done_testing();
