// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.jr.ob.JSON;

/** page.html, what is filled into it, and the files that travel with it. */
final class Template {
    private static final String ECHARTS = "/META-INF/resources/webjars/echarts/";
    private static final Pattern PLACEHOLDER = Pattern.compile("\\{\\{([a-z]+)}}");

    private Template() {}

    /** One pass: what is filled in is not searched for placeholders. */
    static String fill(String template, Map<String, String> values) {
        Matcher matcher = PLACEHOLDER.matcher(template);
        StringBuilder out = new StringBuilder();
        while (matcher.find()) {
            String value = values.get(matcher.group(1));
            if (value == null) {
                throw new IllegalStateException("page.html names " + matcher.group());
            }
            matcher.appendReplacement(out, Matcher.quoteReplacement(value));
        }
        return matcher.appendTail(out).toString();
    }

    static String echarts() {
        String version = text("/META-INF/maven/org.webjars.npm/echarts/pom.properties").lines()
                .filter(line -> line.startsWith("version="))
                .map(line -> line.substring("version=".length()).strip())
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("ECharts without a version"));
        return text(ECHARTS + version + "/dist/echarts.min.js");
    }

    static String resource(String name) {
        return text("/io/panalock/bench/report/" + name);
    }

    /** JSON that may stand inside a script element: no way to end it, nothing that JavaScript reads differently. */
    static String json(Object tree) {
        return JSON.std.asString(tree)
                .replace("&", "\\u0026")
                .replace("<", "\\u003c")
                .replace(">", "\\u003e")
                .replace("\u2028", "\\u2028")
                .replace("\u2029", "\\u2029");
    }

    private static String text(String path) {
        try (InputStream in = Template.class.getResourceAsStream(path)) {
            if (in == null) {
                throw new IllegalStateException("the program's jar has no " + path);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
