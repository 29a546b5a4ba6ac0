// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Options whose value is a list of words or numbers. */
final class Choice {
    private Choice() {}

    /** Words among those allowed, in the order given. */
    static List<String> words(CommandLine command, String option, String text, List<String> allowed) {
        List<String> chosen = new ArrayList<>();
        for (String word : text.split(",", -1)) {
            if (!allowed.contains(word.strip())) {
                throw new ParameterException(
                        command, option + ": \"" + word + "\" is not one of " + String.join(", ", allowed));
            }
            chosen.add(word.strip());
        }
        return chosen;
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
