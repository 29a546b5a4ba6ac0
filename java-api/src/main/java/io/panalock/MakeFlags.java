// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What MAKEFLAGS says about the jobserver. */
record MakeFlags(Place place, boolean dryRun) {

    /** Where the jobserver is. */
    sealed interface Place {
        /** MAKEFLAGS names none. */
        record Nowhere() implements Place {}

        /** A FIFO, since make 4.4. */
        record Fifo(String path) implements Place {}

        /** Descriptors that make has passed on. */
        record Descriptors(int read, int write) implements Place {}

        /** Negative descriptors: make has one, but not for this recipe. */
        record Withheld() implements Place {}

        /** Something that this version does not know. */
        record Unknown(String value) implements Place {}
    }

    private static final Pattern DESCRIPTORS = Pattern.compile("(-?\\d{1,9}),(-?\\d{1,9})");
    private static final String FIFO = "fifo:";

    static MakeFlags parse(String text) {
        List<String> words = words(text);
        Place place = new Place.Nowhere();
        for (String word : words) {
            if (word.equals("--")) {
                break; // variables follow
            }
            Optional<String> value = value(word);
            if (value.isPresent()) {
                place = place(value.get()); // the last one counts
            }
        }
        // The first word holds the flags of one letter, without a dash, unless it is an option or a variable.
        String first = words.isEmpty() ? "" : words.getFirst();
        boolean letters = !first.startsWith("-") && !first.contains("=");
        return new MakeFlags(place, letters && first.contains("n"));
    }

    /** Split at blanks; a backslash takes the next character as it is, which is how make writes a blank inside a word. */
    private static List<String> words(String text) {
        List<String> words = new ArrayList<>();
        StringBuilder word = null;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isWhitespace(c)) {
                if (word != null) {
                    words.add(word.toString());
                }
                word = null;
                continue;
            }
            word = word == null ? new StringBuilder() : word;
            word.append(c == '\\' && i + 1 < text.length() ? text.charAt(++i) : c);
        }
        if (word != null) {
            words.add(word.toString());
        }
        return words;
    }

    /** A part of a word as make wants it: it expands what it finds in the environment. */
    static String quote(String text) {
        return text.replaceAll("[\\\\\\s]", "\\\\$0").replace("$", "$$");
    }

    private static Optional<String> value(String word) {
        for (String option : new String[] {"--jobserver-auth=", "--jobserver-fds="}) {
            if (word.startsWith(option)) {
                return Optional.of(word.substring(option.length()));
            }
        }
        return Optional.empty();
    }

    private static Place place(String value) {
        if (value.startsWith(FIFO) && value.length() > FIFO.length()) {
            return new Place.Fifo(value.substring(FIFO.length()));
        }
        Matcher m = DESCRIPTORS.matcher(value);
        if (!m.matches()) {
            return new Place.Unknown(value);
        }
        int read = Integer.parseInt(m.group(1));
        int write = Integer.parseInt(m.group(2));
        return read < 0 || write < 0 ? new Place.Withheld() : new Place.Descriptors(read, write);
    }
}
