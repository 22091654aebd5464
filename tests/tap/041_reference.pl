# Protects docs/internals/specification.md: the extension, the vectors and the reference in Python agree, on the vectors
# and on random texts, so that whoever implements the page in another language has equal fingerprints and keys.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

test_seed();
my $json = JSON::PP->new->canonical->allow_nonref;
my @vectors = map { $json->decode($_) } split /\n/, slurp_file("$FindBin::Bin/lib/vectors.json");
my $node = new_node('reference');
$node->safe_psql('postgres', 'CREATE TABLE asked (id bigserial, v jsonb)');

# What the extension says to all that is asked, a line of JSON each.
my $answers = q{SELECT CASE WHEN v ? 'fp' THEN (SELECT to_json(array_agg(k)) FROM near_dup_bands((v->>'fp')::bigint, (v->>'distance')::integer, (v->>'blocks')::integer) k)
	ELSE coalesce(to_json(simhash(v->>'text', v->'recipe')), 'null') END FROM asked ORDER BY id};

sub extension_says
{
	my @asked = map { s/\$q\$//gr } @_;
	$node->safe_psql('postgres', 'TRUNCATE asked');
	$node->safe_psql('postgres', join "\n", map { "INSERT INTO asked (v) VALUES (\$q\$$_\$q\$);" } @asked);
	return map { s/ //gr } split /\n/, $node->safe_psql('postgres', $answers);
}

sub differing
{
	my ($ours, $theirs, $asked) = @_;
	my @wrong = map { "$asked->[$_]: $ours->[$_], not $theirs->[$_]" } grep { $ours->[$_] ne $theirs->[$_] } 0 .. $#$asked;
	splice(@wrong, 5) if @wrong > 5;
	return join "\n", @wrong;
}

my (@expected, @asked);
foreach my $vector (@vectors)
{
	push @expected, $json->encode(delete $vector->{is});
	push @asked, JSON::PP->new->canonical->ascii->encode($vector);
}
is(differing([ extension_says(@asked) ], \@expected, \@asked), '', 'the extension has the ' . @vectors . ' vectors');

SKIP:
{
	skip 'no python3', 3 unless eval { IPC::Run::run([ 'python3', '-c', 'import unicodedata' ], '>', \my $out, '2>', \my $err) };
	my $reference = sub {
		my ($in, $out, $err) = (join("\n", @_) . "\n", '', '');
		IPC::Run::run([ 'python3', "$FindBin::Bin/lib/reference.py" ], '<', \$in, '>', \$out, '2>', \$err) or diag $err;
		return map { s/ //gr } split /\n/, $out;
	};
	is(differing([ $reference->(@asked) ], \@expected, \@asked), '', 'so has the reference');

	# Characters that are assigned for long, so that no version of Unicode differs.
	my @ranges = ([ 0x20, 0x7e ], [ 0x61, 0x7a ], [ 0xa0, 0x17f ], [ 0x300, 0x36f ], [ 0x391, 0x3a1 ], [ 0x400, 0x45f ], [ 0xe01, 0xe3a ], [ 0x2010, 0x2060 ],
		[ 0x2100, 0x213a ], [ 0x2460, 0x24ea ], [ 0x3001, 0x30fe ], [ 0x4e00, 0x9fa5 ], [ 0x4e00, 0x4e20 ], [ 0xac00, 0xd7a3 ], [ 0xff01, 0xffbe ], [ 0x1f300, 0x1f3ff ]);
	my @random;
	foreach (1 .. 1500)
	{
		my @few = map { $ranges[ rand @ranges ] } 1 .. 1 + rand 3;
		my $text = join '', map { my $of = $few[ rand @few ]; chr($of->[0] + int rand($of->[1] - $of->[0] + 1)) } 1 .. rand 60;
		my %recipe = (tokens => 'chars', n => 1 + int(rand 6), weight => (qw(tf log one), 0.37)[ rand 4 ]);
		$recipe{tokens} = (qw(shingles words words+chars))[ rand 3 ] if $text !~ /[^\x00-\x7f]/;
		# Numbers that are no whole steps.
		$recipe{factor} = 10**(rand(8) - 6) if rand() < 0.5;
		$recipe{terms} = { substr($1, 0, $recipe{n}) => rand 3 } if $text =~ /([a-z]{3,})/;
		push @random, JSON::PP->new->canonical->ascii->encode({ text => $text, recipe => \%recipe });
	}
	push @random, map { my $d = int rand 9; qq({"fp":) . ((int(rand 2**31) << 32 | int(rand 2**32)) - (1 << 62)) . qq(,"distance":$d,"blocks":) . ($d + 1 + int rand 3) . '}' } 1 .. 300;
	is(differing([ $reference->(@random) ], [ extension_says(@random) ], \@random), '', 'and both on random texts');

	# What the reference does not have, or the extension refuses, has no fingerprint rather than another one.
	my @refused = map { qq({"text":"the cat","recipe":{"tokens":"words",$_}}) } '"stop":"en"', '"hash":"murmur3"', '"markup":"html"', '"simplify":true',
		'"other":1', '"terms":{"The":0,"the":1}', '"n":[1,1]', '"factor":2000,"weight":2000';
	push @refused, '{"fp":1,"distance":1,"blocks":17}', '{"fp":1,"distance":3,"blocks":64}';
	my @answered = grep {
		my ($asked, $out, $err) = ("$_\n", '', '');
		IPC::Run::run([ 'python3', "$FindBin::Bin/lib/reference.py" ], '<', \$asked, '>', \$out, '2>', \$err) || $err !~ /^ValueError: /m
	} @refused;
	is(join("\n", @answered), '', 'the reference refuses what it does not have');
}
$node->stop;
done_testing();
