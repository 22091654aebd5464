# Protects the messages of a server in whose environment RUST_BACKTRACE is set: an
# error of a query that the extension runs has no stack in its detail.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Dedup;
use PostgreSQL::Test::Utils;
use Test::More;

$ENV{RUST_BACKTRACE} = 1;
my $node = new_node('backtrace');
my ($ret, $out, $err) = $node->psql('postgres', "SELECT * FROM dedup('SELECT 1 AS id, (1 / 0)::text AS t')");
like($err, qr/ERROR:  division by zero/, 'the error arrives');
unlike($err, qr/backtrace|DETAIL| at \S+\.rs/i, 'without a stack');
$node->stop;
done_testing();
