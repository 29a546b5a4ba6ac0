#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# litmus.pl accesses       compares the labels' accesses in the C sources with those that native/litmus/*.litmus stand for,
#                          and the Java twins' with C's; then does so with every labelled access made weaker, one at a time,
#                          which must be noticed each time
# litmus.pl expand DIR     writes every test, and every mutation of it, into DIR and prints "DIALECT FILE NAME EXPECTED"
#
# A test's header says what it stands for and what breaks it:
#
#   (* L1: pl_cas_acq *)                  label L1 is this access wherever it stands in the sources, and nothing else
#   (* without L1: CASA W6 -> CAS W6 *)   a mutation: this text, once in the test, is replaced by that
#
# The test itself must be Never, each mutation Sometimes.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Accesses qw(sources of_c of_java weakened stands_for);

my $dir = 'native/litmus';
my $label = qr/[A-Z]\d{1,2}/;
my @errors;

sub slurp { my $f = shift; open my $in, '<', $f or die "$f: $!\n"; local $/; return scalar <$in> }

# name => { dialect, text, labels => { L => accesses }, mutations => [ [what, from, to] ] }
my %tests;
for my $file (sort glob "$dir/*.litmus") {
	my $text = slurp($file);
	my ($dialect, $name) = $text =~ /\A(AArch64|C) (\S+)\n/ or die "$file: begins with neither AArch64 nor C\n";
	die "$file: is called $name inside\n" if $file ne "$dir/$name.litmus";
	my %t = (dialect => $text =~ /\(\* mixed sizes \*\)/ ? 'mixed' : $dialect, text => $text, labels => {}, mutations => []);
	while ($text =~ /^\(\* ($label): ([^*]*?) \*\)$/mg) {
		$t{labels}{$1} = join ', ', sort split /,\s*/, $2;
	}
	while ($text =~ /^\(\* without ([^:*]+): (.*?) -> ?(.*?) \*\)$/mg) {
		push @{ $t{mutations} }, [$1, $2, $3];
	}
	push @errors, "$file: names no label" unless %{ $t{labels} };
	push @errors, "$file: has no mutation, so nothing shows that it can fail" unless @{ $t{mutations} };
	$tests{$name} = \%t;
}

# mismatches(SOURCES): what the tests and the accesses do not agree about, one sentence each.
my %parsed; # text => its accesses: mutations change one file of many
sub mismatches {
	my $sources = shift;
	my (@wrong, %have, %covered);
	for my $file (grep { !/\.java$/ } keys %$sources) {
		my $of = $parsed{ $sources->{$file} } //= of_c($sources->{$file});
		$have{$_} = { %{ $have{$_} // {} }, %{ $of->{$_} } } for keys %$of;
	}
	my %flat = map { $_ => join ', ', sort keys %{ $have{$_} } } keys %have;
	for my $name (sort keys %tests) {
		my $of = $tests{$name}{labels};
		for my $l (sort keys %$of) {
			$covered{$l} = 1;
			push @wrong, "$l is no label of the sources, but $name.litmus stands for it" if !defined $flat{$l};
			push @wrong, "$l is now \"$flat{$l}\"; $name.litmus was written for \"$of->{$l}\": check it again"
				if defined $flat{$l} && $flat{$l} ne $of->{$l};
		}
	}
	my %exempt = %{ exempt() };
	for my $l (sort keys %flat) {
		push @wrong, "$l has no litmus test; add one, or the reason to $dir/none.txt" if !$covered{$l} && !defined $exempt{$l};
		push @wrong, "$l is in $dir/none.txt and has a litmus test" if $covered{$l} && defined $exempt{$l};
		push @wrong, "$l is now \"$flat{$l}\"; $dir/none.txt gives its reason for \"$exempt{$l}\""
			if defined $exempt{$l} && $exempt{$l} ne $flat{$l};
	}
	push @wrong, map { "$_ is in $dir/none.txt but in no source" } grep { !defined $flat{$_} } sort keys %exempt;
	for my $file (sort grep { /\.java$/ } keys %$sources) {
		for (@{ $parsed{ $sources->{$file} } //= of_java($sources->{$file}) }) {
			my ($l, $line, $accesses) = @$_;
			push @wrong, "$file:$line: $l is no label of the C sources" and next unless defined $flat{$l};
			push @wrong, "$file:$line: " . (join(', ', @$accesses) || 'nothing') . " is weaker than $l in C, \"$flat{$l}\""
				unless stands_for([keys %{ $have{$l} }], $accesses);
		}
	}
	return (\@wrong, \%flat, scalar keys %covered, scalar keys %exempt);
}

# Labels without a test: label => accesses.
sub exempt {
	our %exempt;
	return \%exempt if %exempt;
	for (split /\n/, slurp("$dir/none.txt")) {
		next if /^#|^$/;
		/^($label) \((.*?)\): \S/ or die "$dir/none.txt: $_\n";
		$exempt{$1} = $2;
	}
	return \%exempt;
}

my $mode = shift // '';
if ($mode eq 'accesses') {
	my $sources = sources();
	my ($wrong, $have, $covered, $exempt) = mismatches($sources);
	if (@ARGV && $ARGV[0] eq '--print') {
		print "$_: $have->{$_}\n" for sort keys %$have;
		exit 0;
	}
	push @errors, @$wrong;
	my $weakened = 0;
	for my $file (@errors ? () : sort keys %$sources) {
		for my $mutation (weakened($file, $sources->{$file})) {
			my ($what, $text) = @$mutation;
			my ($noticed) = mismatches({ %$sources, $file => $text });
			push @errors, "$what could be weaker without a word from here" unless @$noticed;
			$weakened++;
		}
	}
	print "$_\n" for @errors;
	exit 1 if @errors;
	printf "litmus: %d tests stand for %d labels with the accesses that the sources have, %d need none; each of %d accesses"
		. " made weaker is noticed\n", scalar keys %tests, $covered, $exempt, $weakened;
} elsif ($mode eq 'expand' && @ARGV) {
	my $out = $ARGV[0];
	my $write = sub {
		my ($name, $dialect, $text, $expected) = @_;
		$text =~ s/\A(\S+) \S+/$1 $name/;
		$text =~ s/^\(\*.*\*\)\n//mg; # herd takes comments, but reports positions better without
		open my $file, '>', "$out/$name.litmus" or die "$out/$name.litmus: $!\n";
		print $file $text;
		close $file;
		print "$dialect $out/$name.litmus $name $expected\n";
	};
	for my $name (sort keys %tests) {
		my $t = $tests{$name};
		(my $body = $t->{text}) =~ s/^\(\*.*\*\)\n//mg;
		$write->($name, $t->{dialect}, $t->{text}, 'Never');
		my $n = 0;
		for my $m (@{ $t->{mutations} }) {
			my ($what, $from, $to) = @$m;
			my $times = () = $body =~ /\Q$from\E/g;
			push @errors, "$name.litmus: \"$from\" stands $times times in it" if $times != 1;
			(my $mutated = $body) =~ s/\Q$from\E/$to/;
			(my $tag = $what) =~ s/[^A-Za-z0-9]+/-/g;
			$write->("$name+without-$tag-" . ++$n, $t->{dialect}, $mutated, 'Sometimes');
		}
	}
	print STDERR "$_\n" for @errors;
	exit 1 if @errors;
} else {
	die "usage: litmus.pl accesses [--print] | expand DIR\n";
}
