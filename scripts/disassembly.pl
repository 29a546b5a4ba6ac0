#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# disassembly.pl LIBRARY waits                    every wfe and wfet waits for an exclusive load's monitor, or drains an event
# disassembly.pl LIBRARY reaches TARGET NAME...   each function NAME can come to call TARGET
# disassembly.pl LIBRARY fast NAME=N...           each function NAME has a way to its return with exactly N calls, all of
#                                                 them outline atomics, and calls nothing else but what is named with
#                                                 "+NAME" behind it (slow paths)
# disassembly.pl LIBRARY orders NAME...           each function of atomic.h does what its name says: pl_load_acq is ldar and
#                                                 nothing else, pl_cas_ar one outline atomic with both orders
#
# LIBRARY is for arm64, with its symbols. OBJDUMP=... selects the disassembler.
use strict;
use warnings;

my ($library, $mode, @rest) = @ARGV;
die "usage: disassembly.pl LIBRARY waits | reaches TARGET NAME... | fast NAME=N[+SLOW...]... | orders NAME...\n" unless $mode;
my $objdump = $ENV{OBJDUMP} // 'aarch64-linux-gnu-objdump';
my (%code, $name, @errors);
open my $in, '-|', $objdump, '-d', '--no-show-raw-insn', $library or die "$objdump: $!\n";
while (<$in>) {
	if (/^[0-9a-f]+ <(.+)>:$/) {
		$name = $1;
	} elsif (defined $name && /^\s*([0-9a-f]+):\s+(\S+)\s*(.*?)\s*(?:\/\/.*)?$/) {
		push @{ $code{$name} }, { at => hex $1, op => $2, args => $3 };
	}
}
close $in or die "$objdump failed on $library\n";
die "$library: nothing to disassemble\n" unless %code;

# Where a branch leads: (function, address).
sub target { my $i = shift; return $i->{op} =~ /^(bl?|b\..*|cbn?z|tbn?z)$/ && $i->{args} =~ /([0-9a-f]+) <([^+>]+)(?:\+0x[0-9a-f]+)?>$/ ? ($2, hex $1) : () }
sub is_atomic { return $_[0] =~ /^__aarch64_(cas|swp|ld(add|clr|eor|set))[1248]_/ }

if ($mode eq 'waits') {
	my ($waiting, $draining) = (0, 0);
	for my $f (sort keys %code) {
		my @c = @{ $code{$f} };
		for my $n (0 .. $#c) {
			next unless $c[$n]{op} =~ /^wfet?$/;
			if ($n && $c[$n - 1]{op} eq 'sevl') {
				$draining++;
				next;
			}
			# Back to the exclusive load; between it and the wait only the comparison and the way out.
			my $back = $n - 1;
			$back-- while $back >= 0 && $c[$back]{op} =~ /^(cmp|eor|ccmp|tst|mov|cbz|cbnz|b\.(ne|eq)|nop)$/;
			if ($back >= 0 && $c[$back]{op} =~ /^lda?xr[bh]?$/) {
				$waiting++;
			} else {
				my $what = $back >= 0 ? "$c[$back]{op} $c[$back]{args}" : 'nothing';
				push @errors, sprintf '%s: %s at %x follows "%s", not an exclusive load: no store would end it', $f, $c[$n]{op},
					$c[$n]{at}, $what;
			}
		}
	}
	push @errors, 'there is no wfe or wfet that waits' unless $waiting || @errors;
	print "$library: $waiting waits, each armed by an exclusive load; $draining drains\n" unless @errors;
} elsif ($mode eq 'reaches') {
	my $target = shift @rest;
	push @errors, "there is no $target" unless $code{$target};
	for my $from (@rest) {
		my (@todo, %seen) = ($from);
		push @errors, "there is no $from" unless $code{$from};
		while (defined(my $f = shift @todo)) {
			next if $seen{$f}++;
			for my $i (@{ $code{$f} // [] }) {
				next unless $i->{op} eq 'bl' || $i->{op} =~ /^(b|b\..*|cbn?z|tbn?z)$/;
				my ($to) = target($i) or next;
				$to =~ s/\@plt$//;
				push @todo, $to;
			}
		}
		push @errors, "$from never comes to $target" unless $seen{$target};
	}
	print "$library: $target is reached from @rest\n" unless @errors;
} elsif ($mode eq 'fast') {
	for my $wanted (@rest) {
		my ($f, $calls, @slow) = split /[=+]/, $wanted;
		my @c = @{ $code{$f} // [] };
		if (!@c) {
			push @errors, "there is no $f";
			next;
		}
		my %index = map { $c[$_]{at} => $_ } 0 .. $#c;
		my %allowed = map { $_ => 1 } @slow;
		for my $i (@c) {
			my ($to, $at) = target($i);
			if ($i->{op} =~ /^(blr|br)$/) {
				push @errors, "$f: an indirect call at " . sprintf '%x', $i->{at};
			} elsif (defined $to && !exists $index{$at}) { # leaves the function: a call, or a call in place of the return
				(my $plain = $to) =~ s/(\@plt|\.(constprop|isra|part|cold)[.\d]*)+$//;
				push @errors, "$f calls $to" unless is_atomic($plain) || $allowed{$plain};
			}
		}
		# A way to a return with the right number of outline atomics and no other call.
		my (@todo, %seen) = ([0, 0]);
		my $found = 0;
		while (my $step = shift @todo) {
			my ($n, $count) = @$step;
			next if $n > $#c || $count > $calls || $seen{"$n $count"}++;
			my $i = $c[$n];
			my ($to, $at) = target($i);
			if ($i->{op} eq 'ret') {
				$found ||= $count == $calls;
			} elsif ($i->{op} eq 'bl') {
				push @todo, [$n + 1, $count + 1] if is_atomic($to =~ s/\@plt$//r);
			} elsif ($i->{op} eq 'b') {
				push @todo, [$index{$at}, $count] if defined $at && exists $index{$at};
			} else {
				push @todo, [$index{$at}, $count] if $i->{op} =~ /^(b\.|cb|tb)/ && defined $at && exists $index{$at};
				push @todo, [$n + 1, $count];
			}
		}
		push @errors, "$f: no way to its return with $calls outline atomics and no other call" unless $found;
	}
	print "$library: " . scalar(@rest) . " fast paths call nothing but an outline atomic\n" unless @errors;
} elsif ($mode eq 'orders') {
	my %wanted = (load_rlx => 'ldr', load_acq => 'ldar', store_rlx => 'str', store_rel => 'stlr', fence => 'dmb ish', compiler_fence => '');
	my %instruction = (cas => 'cas', cas_value => 'cas', xor => 'ldeor', swap => 'swp', or => 'ldset', and => 'ldclr', add => 'ldadd', sub => 'ldadd', dec => 'ldadd');
	my %suffix = (rlx => 'relax', acq => 'acq', rel => 'rel', ar => 'acq_rel');
	for my $f (@rest) {
		push @errors, "there is no $f" and next unless $code{$f};
		my ($op, $bits, $order) = $f =~ /^pl_([a-z_]+?)(64|8)?(_(?:rlx|acq|rel|ar))?$/;
		my $name = $op . ($order // '');
		my $want = $wanted{$name};
		if (!defined $want) {
			push @errors, "$f: an operation that this check does not know" and next unless $instruction{$op} && $order;
			$want = "__aarch64_$instruction{$op}" . ($bits ? $bits / 8 : 4) . '_' . $suffix{ substr $order, 1 };
		}
		my @does;
		for my $i (@{ $code{$f} }) {
			my ($to) = target($i);
			push @does, $to if defined $to && $to ne $f;
			push @does, $i->{op} eq 'dmb' ? "dmb $i->{args}" : $i->{op}
				if $i->{op} =~ /^(ld|st|dmb|dsb|cas|swp)/ && $i->{args} !~ /\[sp/;
		}
		push @errors, "$f does \"@does\", not \"$want\"" unless "@does" eq $want;
	}
	print "$library: " . scalar(@rest) . " atomic operations have the order of their name\n" unless @errors;
} else {
	die "disassembly.pl: $mode?\n";
}
if (@errors) {
	print "$library: $_\n" for @errors;
	exit 1;
}
