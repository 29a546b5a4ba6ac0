#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Checks that every labelled access in the sources names its partner, that the partner exists, and that docs/ordering.md
# lists exactly these labels with the same files and partners. `--write` brings the table up to date, keeping its reasons.
# Then that each label has its litmus test (litmus.pl accesses). A J behind a label marks the access in the Java twin.
use strict;
use warnings;
use File::Find;

my $label = qr/[A-Z]\d{1,2}/;
my (%files, %pairs, %why, @errors, @rows);

# Every ordered access in C has its label in a comment on its line or the line before.
sub unlabelled {
	my ($file, $text) = @_;
	my ($before, $n) = ('', 0);
	for my $line (split /\n/, $text) {
		$n++;
		push @errors, "$file:$n: an ordered access without a label"
			if $line =~ /\bpl_(\w+_(acq|rel|ar)|fence)\(|__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)/
			&& "$before $line" !~ m{/\*.*\b$label\b};
		$before = $line;
	}
}

find({ no_chdir => 1, wanted => sub {
	my $file = $_;
	return unless $file =~ /\.(c|h|java)$/ && $file !~ m{/internal/ffm/};
	(my $short = $file) =~ s{.*/}{};
	open my $in, '<', $file or die "$file: $!\n";
	local $/;
	my $text = <$in>;
	unlabelled($file, $text) if $file =~ m{\.[ch]$} && $file !~ m{/arch/|/atomic\.h$};
	# Comments, consecutive // lines as one, without their decoration.
	while ($text =~ m{/\*(.*?)\*/|((?:[ \t]*//[^\n]*\n)+)|//([^\n]*)}gs) {
		my $comment = $1 // $2 // $3;
		$comment =~ s{\n\s*(?:\*|//)?}{ }g;
		$comment =~ s{^\s*//?}{};
		$comment =~ s{\b($label)J\b}{$1}g; # the Java twin of an access
		$files{$1}{$short} = 1 if $comment =~ /^\W*($label)\W*$/; # a bare label: one more place of the same access
		while ($comment =~ /\b($label): (.*?)(?=\b$label: |\z)/gs) {
			my ($l, $rest) = ($1, $2);
			$files{$l}{$short} = 1;
			while ($rest =~ /pairs\s+with\s+((?:$label|itself)(?:(?:, | and )(?:$label|itself))*)/g) {
				$pairs{$l}{ $_ eq 'itself' ? $l : $_ } = 1 for $1 =~ /$label|itself/g;
			}
		}
	}
} }, 'native/include', 'native/src', 'java-api/src/main/java');

my %doc;
open my $md, '<', 'docs/ordering.md' or die "docs/ordering.md: $!\n";
while (<$md>) {
	next unless /^\| ($label) \| ([^|]*?) \| ([^|]*?) \| ([^|]*?) \|$/;
	my ($l, $where, $with, $reason) = ($1, $2, $3, $4);
	$doc{$l} = { files => join(', ', sort split /,\s*/, $where), pairs => join(', ', sort split /,\s*/, $with) };
	$why{$l} = $reason;
}

sub by_label { my ($x, $y) = @_; (substr($x, 0, 1) cmp substr($y, 0, 1)) || (substr($x, 1) <=> substr($y, 1)) }

for my $l (sort { by_label($a, $b) } keys %files) {
	my $where = join ', ', sort keys %{ $files{$l} };
	my $with = join ', ', sort keys %{ $pairs{$l} || {} };
	push @rows, sprintf "| %s | %s | %s | %s |\n", $l, $where, $with, $why{$l} // '';
	push @errors, "$l ($where) names no partner: say \"$l: <order>, pairs with <label>\" at one place" if $with eq '';
	for my $p (keys %{ $pairs{$l} || {} }) {
		push @errors, "$l pairs with $p, which no source has" unless $files{$p};
	}
	if (!$doc{$l}) {
		push @errors, "$l ($where) is missing from docs/ordering.md";
	} else {
		push @errors, "$l: docs/ordering.md says \"$doc{$l}{files}\", the sources say \"$where\"" if $doc{$l}{files} ne $where;
		push @errors, "$l: docs/ordering.md pairs it with \"$doc{$l}{pairs}\", the sources with \"$with\"" if $doc{$l}{pairs} ne $with;
		push @errors, "$l: docs/ordering.md gives no reason" if $why{$l} eq '';
	}
}
if (@ARGV && $ARGV[0] eq '--write') {
	open my $old, '<', 'docs/ordering.md' or die "docs/ordering.md: $!\n";
	my @kept = grep { !/^\| $label \|/ } <$old>; # the table is the last thing on the page
	open my $new, '>', 'docs/ordering.md' or die "docs/ordering.md: $!\n";
	print $new @kept, @rows;
	exit 0;
}
push @errors, map { "$_ is in docs/ordering.md but in no source" } grep { !$files{$_} } sort keys %doc;

if (@errors) {
	print "$_\n" for @errors;
	printf "%d labels checked, %d errors\n", scalar keys %files, scalar @errors;
	exit 1;
}
printf "ordering: %d labels, each with its partner and in docs/ordering.md\n", scalar keys %files;

# Each has its litmus test, and that was written for this order.
use FindBin;
exec $^X, "$FindBin::Bin/litmus.pl", 'accesses';
