// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
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

    /** Those that contain what was typed, or are contained in it; then those that begin like it, the longer the sooner. */
    static List<String> nearest(String typed, Collection<String> all) {
        return all.stream()
                .sorted(Comparator.comparingInt(
                        each -> each.contains(typed) || typed.contains(each) ? Integer.MIN_VALUE : -begin(typed, each)))
                .limit(NEAREST)
                .toList();
    }

    /** With how many letters both begin. */
    private static int begin(String a, String b) {
        int length = Math.min(a.length(), b.length());
        int differs = Arrays.mismatch(a.toCharArray(), 0, length, b.toCharArray(), 0, length);
        return differs < 0 ? length : differs;
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
