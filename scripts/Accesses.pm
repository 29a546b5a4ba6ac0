# SPDX-License-Identifier: Apache-2.0
# The ordered accesses of the sources and the labels in the comments beside them, in C and in the Java twin.
#
# An access is a string: its function and its order, "pl_cas_acq" or "__atomic_load_n ACQUIRE", "nothing" where none is. For the comparison of the
# two languages it has a kind (load, store, rmw, fence, heavy) and an order (rlx, acq, rel, ar).
package Accesses;
use strict;
use warnings;
use File::Find;
use Exporter 'import';
our @EXPORT_OK = qw(sources of_c of_java weakened stands_for);

my $label = qr/[A-Z]\d{1,2}/;
my $c_access = qr/\b(pl_\w+_(?:rlx|acq|rel|ar)|pl_(?:compiler_)?fence|pl_os_heavy_fence|set_bits|clear_bits)\(|\b(__atomic_\w+)\(([^;{]*__ATOMIC_\w+)/;
my $java_access = qr/[.\s](get(?:Long)?(?:Opaque|Acquire|Volatile)?|set(?:Long)?(?:Opaque|Release|Volatile)?|cas(?:Long)?(?:Acquire)?|(?:weakC|c)ompareAnd(?:Set|Exchange)\w*|getAnd(?:Set|Add|Or|And|Xor|Bitwise\w+?)(?:Long)?(?:Acquire|Release|Plain)?|fullFence|heavyFence|setBits|clearBits)\(/;

# sources(): path => text of what labels can stand in.
sub sources {
	my %text;
	find({ no_chdir => 1, wanted => sub {
		return if !m{/src/.*\.java$|\.[ch]$} || m{/arch/|/atomic\.h$|/internal/ffm/};
		open my $in, '<', $_ or die "$_: $!\n";
		local $/;
		$text{$_} = <$in>;
	} }, 'native/include', 'native/src', 'java-api/src/main/java');
	return \%text;
}

# of_c(TEXT): label => { access => 1 }. A label marks the accesses on its comment's line, else those on the first line
# behind it that has any.
sub of_c {
	my $text = shift;
	my %of;
	my $all = sub {
		my ($code, @found) = shift;
		while ($code =~ /$c_access/g) {
			my ($ours, $builtin, $arguments) = ($1, $2, $3);
			push @found, $ours // join ' ', $builtin, $arguments =~ /__ATOMIC_(\w+)/g;
		}
		return @found;
	};
	while ($text =~ m{/\*(.*?)\*/}gs) {
		my ($comment, $start, $end) = ($1, $-[0], $+[0]);
		$comment =~ s/\n\s*\*?/ /g;
		my %labels = map { $_ => 1 } $comment =~ /\b($label): /g, $comment =~ /^\W*($label)(?:\W*$|[;,])/;
		next unless %labels;
		my $line = rindex($text, "\n", $start) + 1;
		my $before = substr $text, $line, $start - $line;
		my @found = $all->($before);
		next if !@found && $before =~ /^[^(]*;\s*$/; # a declaration
		@found = 'nothing' if !@found && $before =~ /;\W*$/; # an access that is no longer there
		(my $rest = substr $text, $end, 600) =~ s{/\*.*?\*/}{}gs;
		for my $code (@found ? () : split /\n/, $rest) {
			last if @found = $all->($code);
		}
		for my $l (keys %labels) {
			$of{$l} //= {};
			$of{$l}{$_} = 1 for @found;
		}
	}
	return \%of;
}

# of_java(TEXT): for each "// L1J" one [label, line, [access...], where, code]: the code on its line, else the first behind
# it that has an access.
sub of_java {
	my $text = shift;
	my (@of, @lines);
	push @lines, [$-[0], $&] while $text =~ /^.*$/mg;
	for my $n (0 .. $#lines) {
		$lines[$n][1] =~ m{^(.*?)//\W*($label)J\b} or next;
		my ($code, $l, $where) = ($1, $2, $lines[$n][0]);
		my @found = $code =~ /$java_access/g;
		for my $next (@lines[$n + 1 .. ($n + 8 > $#lines ? $#lines : $n + 8)]) {
			last if @found || $code =~ /\S/;
			($where, $code) = @$next;
			$code =~ s{//.*}{};
			@found = $code =~ /$java_access/g;
		}
		push @of, [$l, $n + 1, [@found], $where, $code];
	}
	return \@of;
}

# weakened(PATH, TEXT): [what, text] for every labelled access with an order, made relaxed or dropped, one at a time.
sub weakened {
	my ($path, $text) = @_;
	my @all;
	my $note = sub {
		my ($start, $length, $by) = @_;
		my $line = 1 + (substr($text, 0, $start) =~ tr/\n//);
		my $changed = $text;
		my $what = substr $changed, $start, $length, $by;
		push @all, ["$path:$line: $what", $changed];
	};
	if ($path =~ /\.java$/) {
		for (@{ of_java($text) }) {
			my ($start, $code) = @$_[3, 4];
			$code =~ s{//.*}{};
			while ($code =~ /$java_access/g) {
				my ($name, $at) = ($1, $start + $-[1]);
				my $weak = $name =~ /^get(Long)?(Acquire|Volatile)$/ ? 'get'
					: $name =~ /^set(Long)?(Release|Volatile)$/ ? 'set'
					: $name =~ /^(cas|compareAnd)/ ? 'weakCompareAndSetPlain'
					: $name =~ /^(getAnd[A-Z][a-z]+)/ ? "$1Plain"
					: $name =~ /Fence$|Bits$/ ? 'nothing'
					: next;
				$note->($at, length $name, $weak);
			}
		}
	} else {
		(my $code = $text) =~ s{/\*.*?\*/}{(my $c = $&) =~ s/[^\n]/ /g; $c}gse;
		while ($code =~ /\bpl_(\w+?)_(acq|rel|ar)\(|__ATOMIC_(?:ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)\b|\bpl_fence\(|\bpl_os_heavy_fence\(/g) {
			my ($start, $length, $what) = ($-[0], $+[0] - $-[0], $&);
			next if $what =~ /pl_os_heavy_fence/ && substr($code, $start + $length) =~ /^\w+ \w+\)\s*[;{]/; # its declaration
			$note->($start, $length, $what =~ /^__ATOMIC/ ? '__ATOMIC_RELAXED' : $what =~ /fence/ ? 'nothing(' : "pl_$1_rlx(");
		}
	}
	return @all;
}

sub kind_and_order {
	my $access = shift;
	return ('fence', 'ar') if $access =~ /^(pl_fence|fullFence)$/;
	return ('heavy', 'ar') if $access =~ /^(pl_os_heavy_fence|heavyFence)$/;
	return ('rmw', 'ar') if $access =~ /^(set_bits|clear_bits|setBits|clearBits)$/;
	if ($access =~ /^pl_([a-z]+)\w*_(rlx|acq|rel|ar)$/) {
		return ($1 eq 'load' || $1 eq 'store' ? $1 : 'rmw', $2);
	}
	if ($access =~ /^__atomic_(load|store)?\w* (\w+)/) {
		return ($1 // 'rmw', { RELAXED => 'rlx', ACQUIRE => 'acq', RELEASE => 'rel' }->{$2} // 'ar');
	}
	return ('load', $1 && $1 ne 'Opaque' ? 'acq' : 'rlx') if $access =~ /^get(?:Long)?(Opaque|Acquire|Volatile)?$/;
	return ('store', $1 && $1 ne 'Opaque' ? 'rel' : 'rlx') if $access =~ /^set(?:Long)?(Opaque|Release|Volatile)?$/;
	return ('rmw', $1 eq 'Acquire' ? 'acq' : $1 eq 'Release' ? 'rel' : $1 eq 'Plain' ? 'rlx' : 'ar')
		if $access =~ /^(?:cas|weakC|compareAnd|getAnd).*?(Acquire|Release|Plain|)$/;
	return ('nothing', 'rlx');
}

# stands_for(C, JAVA): true if one of Java's accesses does all that one of C's does; where some of C's are ordered, of those.
sub stands_for {
	my ($c, $java) = @_;
	my @c = map { [kind_and_order($_)] } @$c;
	my @ordered = grep { $_->[1] ne 'rlx' } @c;
	for my $want (@ordered ? @ordered : @c) {
		for my $have (map { [kind_and_order($_)] } @$java) {
			next unless $have->[0] eq $want->[0] || $have->[0] eq 'rmw' && $want->[0] =~ /^(load|store)$/;
			return 1 if $have->[1] eq $want->[1] || $have->[1] eq 'ar' || $want->[1] eq 'rlx';
		}
	}
	return 0;
}

1;
