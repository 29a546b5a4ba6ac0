// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An HTML element. Text and attributes are escaped here and nowhere else. */
final class Html {
    private final String tag;
    private final Map<String, String> attributes = new LinkedHashMap<>();
    private final List<Object> children = new ArrayList<>();

    private Html(String tag) {
        this.tag = tag;
    }

    static Html el(String tag) {
        return new Html(tag);
    }

    static Html el(String tag, String text) {
        return new Html(tag).text(text);
    }

    Html attr(String name, Object value) {
        attributes.put(name, String.valueOf(value));
        return this;
    }

    /** An attribute that has no value, such as {@code hidden}. */
    Html attr(String name) {
        attributes.put(name, null);
        return this;
    }

    Html cls(String name) {
        return attr("class", name);
    }

    Html text(String text) {
        children.add(text);
        return this;
    }

    Html add(Html... elements) {
        children.addAll(List.of(elements));
        return this;
    }

    Html addAll(List<Html> elements) {
        children.addAll(elements);
        return this;
    }

    @Override
    public String toString() {
        StringBuilder out = new StringBuilder();
        write(out);
        return out.toString();
    }

    private void write(StringBuilder out) {
        out.append('<').append(tag);
        attributes.forEach((name, value) -> {
            out.append(' ').append(name);
            if (value != null) {
                out.append("=\"").append(escape(value)).append('"');
            }
        });
        out.append('>');
        for (Object child : children) {
            if (child instanceof Html element) {
                element.write(out);
            } else {
                out.append(escape((String) child));
            }
        }
        out.append("</").append(tag).append('>');
        if (BLOCKS.contains(tag)) {
            out.append('\n');
        }
    }

    private static final List<String> BLOCKS =
            List.of("section", "figure", "table", "tr", "p", "li", "dl", "h1", "h2", "h3", "h4", "div", "details", "header");

    static String escape(String text) {
        StringBuilder out = new StringBuilder(text.length() + 16);
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '&' -> out.append("&amp;");
                case '<' -> out.append("&lt;");
                case '>' -> out.append("&gt;");
                case '"' -> out.append("&quot;");
                case '\'' -> out.append("&#39;");
                default -> out.append(c < ' ' && c != '\n' && c != '\t' ? ' ' : c);
            }
        }
        return out.toString();
    }
}
