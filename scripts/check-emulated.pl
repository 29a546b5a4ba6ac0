#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# check-emulated.pl EMULATED.json REAL.json REPORT.html: of a report over both, that it calls the first machine emulated and
# shows no time and no rate of it, though it does of the other, or this would prove nothing.
use strict;
use warnings;

my ($emulated, $real, $report) = map { open my $in, '<', $_ or die "$_: $!\n"; local $/; scalar <$in> } @ARGV;
my ($e, $r) = map { speeds($_) } $emulated, $real;
die "$ARGV[0] does not say that it is emulated\n" unless $emulated =~ /"emulated"\s*:\s*true/;
die "$ARGV[2] does not say which machine is emulated\n" unless $report =~ />emulated</;
my %shown = map { $_ => 1 } $report =~ /"absolute":\[([^,\]]+)/g;
die "$ARGV[2] shows no figure of $ARGV[1]\n" unless grep { $shown{$_} } keys %$r;
my @leaked = grep { $shown{$_} && !$r->{$_} } keys %$e;
die "$ARGV[2] shows figures of $ARGV[0]: @leaked\n" if @leaked;
printf "report: none of %d emulated times and rates is shown, %d others are\n", scalar keys %$e, scalar grep { $shown{$_} } keys %$r;

# speeds(JSON): what depends on how fast a machine is, as the page's data print it.
sub speeds {
	my $json = shift;
	my %speed;
	while ($json =~ /"value"\s*:\s*([0-9.eE+-]+),\s*"unit"\s*:\s*"([^"]*)"/g) {
		my ($value, $unit) = ($1, $2);
		$speed{ sprintf '%.6g', $value } = 1 if $unit =~ m{^(ns|us|µs|ms|s|Mops)\b|/s$};
	}
	return \%speed;
}
