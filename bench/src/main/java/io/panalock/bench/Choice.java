// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Options whose value is a list of words or numbers. */
final class Choice {
    /** More than so many are not listed. */
    private static final int MANY = 16;

    private static final int NEAREST = 4;

    private Choice() {}

    /** Words among those allowed, in the order given. */
    static List<String> words(CommandLine command, String option, String text, List<String> allowed) {
        List<String> chosen = new ArrayList<>();
        for (String word : text.split(",", -1)) {
            if (!allowed.contains(word.strip())) {
                throw new ParameterException(command, option + ": \"" + word + "\" is not one of "
                        + (allowed.size() <= MANY
                                ? String.join(", ", allowed)
                                : "the " + allowed.size() + " that there are; the nearest are "
                                        + String.join(", ", nearest(word, allowed))));
            }
            chosen.add(word.strip());
        }
        return chosen;
    }

    /** Those that are like what was typed, the likest first. */
    static List<String> nearest(String typed, Collection<String> all) {
        return all.stream()
                .sorted(Comparator.comparingInt(each -> each.contains(typed) || typed.contains(each) ? 0 : distance(typed, each)))
                .limit(NEAREST)
                .toList();
    }

    /** How many letters must be changed, put in or left out. (Levenshtein 1966.) */
    private static int distance(String a, String b) {
        int[] above = IntStream.rangeClosed(0, b.length()).toArray();
        for (int i = 1; i <= a.length(); i++) {
            int[] row = new int[b.length() + 1];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int changed = above[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(changed, 1 + Math.min(above[j], row[j - 1]));
            }
            above = row;
        }
        return above[b.length()];
    }

    static List<Integer> numbers(CommandLine command, String option, String text, int least, int most) {
        List<Integer> chosen = new ArrayList<>();
        for (String word : text.split(",", -1)) {
            chosen.add(number(command, option, word.strip(), least, most));
        }
        return chosen;
    }

    static int number(CommandLine command, String option, String text, int least, int most) {
        try {
            int number = Integer.parseInt(text);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // said below
        }
        throw new ParameterException(
                command, option + ": \"" + text + "\" is not a number from " + least + " to " + most);
    }
}
