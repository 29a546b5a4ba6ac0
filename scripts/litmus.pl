#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# litmus.pl accesses       compares the labels' accesses in the C sources with those that native/litmus/*.litmus stand for
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
use File::Find;

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

# The accesses that a label marks: those on its comment's line, else on the first line behind it that has any.
sub accesses_of_sources {
	my $access = qr/\b(pl_(?:load|store|cas|swap|or|and|add|sub)(?:64)?_(?:rlx|acq|rel|ar)|pl_(?:compiler_)?fence|pl_os_heavy_fence|set_bits|clear_bits)\(|\b(__atomic_\w+)\([^;{]*?__ATOMIC_(\w+)/;
	my $all = sub { my ($code, @found) = shift; push @found, $1 // "$2 $3" while $code =~ /$access/g; return @found };
	my %of;
	find({ no_chdir => 1, wanted => sub {
		my $file = $_;
		return if $file !~ /\.[ch]$/ || $file =~ m{/arch/|/atomic\.h$};
		my $text = slurp($file);
		while ($text =~ m{/\*(.*?)\*/}gs) {
			my ($comment, $start, $end) = ($1, $-[0], $+[0]);
			$comment =~ s/\n\s*\*?/ /g;
			my %labels = map { $_ => 1 } $comment =~ /\b($label): /g, $comment =~ /^\W*($label)(?:\W*$|[;,])/;
			next unless %labels;
			my $line = rindex($text, "\n", $start) + 1;
			my $before = substr $text, $line, $start - $line;
			my @found = $all->($before);
			next if !@found && $before =~ /;\s*$/; # behind a declaration
			(my $rest = substr $text, $end, 600) =~ s{/\*.*?\*/}{}gs;
			for my $code (@found ? () : split /\n/, $rest) {
				last if @found = $all->($code);
			}
			$of{$_}{$file} = { %{ $of{$_}{$file} // {} }, map { $_ => 1 } @found } for keys %labels;
		}
	} }, 'native/include', 'native/src');
	my %flat;
	for my $l (keys %of) {
		my %union = map { %$_ } values %{ $of{$l} };
		$flat{$l} = join ', ', sort keys %union;
	}
	return \%flat;
}

my $mode = shift // '';
if ($mode eq 'accesses') {
	my $have = accesses_of_sources();
	my %covered;
	for my $name (sort keys %tests) {
		my $of = $tests{$name}{labels};
		for my $l (sort keys %$of) {
			$covered{$l} = 1;
			push @errors, "$l is no label of the sources, but $name.litmus stands for it" if !defined $have->{$l};
			push @errors, "$l is now \"$have->{$l}\"; $name.litmus was written for \"$of->{$l}\": check it again"
				if defined $have->{$l} && $have->{$l} ne $of->{$l};
		}
	}
	my %exempt;
	for (split /\n/, slurp("$dir/none.txt")) {
		next if /^#|^$/;
		/^($label): \S/ or die "$dir/none.txt: $_\n";
		$exempt{$1} = 1;
	}
	for my $l (sort keys %$have) {
		push @errors, "$l has no litmus test; add one, or the reason to $dir/none.txt" if !$covered{$l} && !$exempt{$l};
		push @errors, "$l is in $dir/none.txt and has a litmus test" if $covered{$l} && $exempt{$l};
	}
	push @errors, map { "$_ is in $dir/none.txt but in no source" } grep { !defined $have->{$_} } sort keys %exempt;
	if (@ARGV && $ARGV[0] eq '--print') {
		print "$_: $have->{$_}\n" for sort keys %$have;
		exit 0;
	}
	print "$_\n" for @errors;
	exit 1 if @errors;
	printf "litmus: %d tests stand for %d labels with the accesses that the sources have; %d need none\n", scalar keys %tests,
		scalar keys %covered, scalar keys %exempt;
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
