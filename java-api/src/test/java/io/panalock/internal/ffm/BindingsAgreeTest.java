// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal.ffm;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.internal.Library;
import java.io.IOException;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.SequenceLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.UnionLayout;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The committed jextract output says the same as the C compiler says about the public headers: functions and their
 * signatures, struct sizes and field offsets, constants and their values, in both directions.
 *
 * <p>The compiler's view is a text file that scripts/c-abi.sh writes during the build of the native module; that script
 * documents the format. The bindings' view is rendered in the same format by reflection. Neither side keeps a list, so
 * a new function or struct is covered as soon as it stands in a header, and jextract is not needed.
 */
class BindingsAgreeTest {
    private static final Class<?> HEADER = panalock_h.class;

    private static List<String> compiler;

    @BeforeAll
    static void loadLibraryAndReadWhatTheCompilerSays() throws IOException {
        // jextract's classes look symbols up in what their own class loader has loaded. Not by a System.load() of our own:
        // functions first called after that would be another copy's, which knows nothing of the domains made before.
        Library.require();
        compiler = Files.readAllLines(Path.of(System.getProperty("panalock.test.abi")));
    }

    @Test
    void functionsAndTheirSignatures() throws Exception {
        SortedMap<String, String> bindings = new TreeMap<>();
        for (Method m : HEADER.getMethods()) {
            if (m.getName().endsWith("$descriptor")) {
                String name = m.getName().substring(0, m.getName().indexOf('$'));
                bindings.put(name, signature((FunctionDescriptor) call(m)));
            }
        }
        SortedMap<String, String> expected = facts("function");
        assertThat(expected).isNotEmpty();
        assertAgree(expected, bindings);
    }

    @Test
    void everyFunctionIsExportedByTheLibrary() throws Exception {
        for (String name : facts("function").keySet()) {
            assertThat(SymbolLookup.loaderLookup().find(name)).as(name).isPresent();
        }
    }

    @Test
    void variables() throws Exception {
        SortedMap<String, String> bindings = new TreeMap<>();
        for (Method m : HEADER.getMethods()) {
            if (m.getName().endsWith("$layout")) {
                bindings.put(
                        m.getName().substring(0, m.getName().indexOf('$')), type((MemoryLayout) call(m)));
            }
        }
        assertAgree(facts("variable"), bindings);
    }

    @Test
    void structSizes() throws Exception {
        SortedMap<String, String> bindings = new TreeMap<>();
        for (Class<?> struct : structs()) {
            GroupLayout layout = layoutOf(struct);
            bindings.put(
                    struct.getSimpleName(),
                    (layout instanceof UnionLayout ? "union " : "struct ") + layout.byteSize());
        }
        SortedMap<String, String> expected = new TreeMap<>();
        facts("struct").forEach((name, size) -> expected.put(name, "struct " + size));
        facts("union").forEach((name, size) -> expected.put(name, "union " + size));
        assertAgree(expected, bindings);
    }

    @Test
    void fieldOffsetsAndTypes() throws Exception {
        SortedMap<String, String> bindings = new TreeMap<>();
        for (Class<?> struct : structs()) {
            fields(struct.getSimpleName(), layoutOf(struct), 0, bindings);
        }
        SortedMap<String, String> expected = new TreeMap<>();
        facts("field").forEach((structName, rest) -> {
            for (String field : rest.split("\n")) {
                int end = field.indexOf(' ');
                expected.put(structName + "." + field.substring(0, end), field.substring(end + 1));
            }
        });
        assertAgree(expected, bindings);
    }

    @Test
    void constantsAndTheirValues() throws Exception {
        SortedMap<String, String> expected = facts("constant");
        assertThat(expected).isNotEmpty();
        SortedMap<String, String> functions = facts("function");
        SortedMap<String, String> variables = facts("variable");
        SortedMap<String, String> bindings = new TreeMap<>();
        for (Method m : HEADER.getMethods()) {
            String name = m.getName();
            boolean getter = Modifier.isStatic(m.getModifiers())
                    && m.getParameterCount() == 0
                    && m.getDeclaringClass() != Object.class
                    && !name.contains("$");
            if (getter && !functions.containsKey(name) && !variables.containsKey(name)) {
                bindings.put(name, constant(call(m)));
            }
        }
        assertAgree(expected, bindings);
    }

    private static void assertAgree(SortedMap<String, String> header, SortedMap<String, String> bindings) {
        var names = new TreeSet<>(header.keySet());
        names.addAll(bindings.keySet());
        List<String> differences = names.stream()
                .filter(name -> !Objects.equals(header.get(name), bindings.get(name)))
                .map(name -> name + ": header says " + header.getOrDefault(name, "nothing") + ", bindings say "
                        + bindings.getOrDefault(name, "nothing"))
                .toList();
        assertThat(differences)
                .as("run \"make bindings\" (needs jextract) and commit the result")
                .isEmpty();
    }

    /** All facts of one kind by name; several facts of one name (fields) are joined with line ends. */
    private static SortedMap<String, String> facts(String kind) {
        SortedMap<String, String> facts = new TreeMap<>();
        for (String line : compiler) {
            String[] word = line.split(" ", 3);
            if (word[0].equals(kind)) {
                facts.merge(word[1], word[2], (a, b) -> a + "\n" + b);
            }
        }
        return facts;
    }

    private static Path classes() {
        return Path.of(System.getProperty("panalock.test.classes"));
    }

    /** The classes that jextract made for structs and unions: those with a static layout() of a group. */
    private static List<Class<?>> structs() throws Exception {
        var structs = new ArrayList<Class<?>>();
        Path directory = classes().resolve(HEADER.getPackageName().replace('.', '/'));
        try (var files = Files.newDirectoryStream(directory, "*.class")) {
            for (Path file : files) {
                String name = file.getFileName().toString().replaceFirst("\\.class$", "");
                if (name.contains("$")) {
                    continue;
                }
                Class<?> type = Class.forName(HEADER.getPackageName() + "." + name);
                // A typedef of another name for a struct is an empty subclass; the struct itself is what counts.
                for (Method m : type.getDeclaredMethods()) {
                    if (m.getName().equals("layout") && GroupLayout.class.isAssignableFrom(m.getReturnType())) {
                        structs.add(type);
                    }
                }
            }
        }
        return structs;
    }

    private static GroupLayout layoutOf(Class<?> struct) throws Exception {
        return (GroupLayout) call(struct.getMethod("layout"));
    }

    private static Object call(Method m) throws Exception {
        try {
            return m.invoke(null);
        } catch (InvocationTargetException e) {
            throw new AssertionError(m + ": " + e.getCause(), e.getCause());
        }
    }

    private static void fields(String struct, GroupLayout group, long base, SortedMap<String, String> fields) {
        long offset = base;
        for (MemoryLayout member : group.memberLayouts()) {
            if (!(member instanceof PaddingLayout)) {
                if (member.name().isPresent() && !member.name().get().startsWith("$")) {
                    fields.put(struct + "." + member.name().get(), offset + " " + type(member));
                } else {
                    // An unnamed struct or union: its fields are the outer one's.
                    fields(struct, (GroupLayout) member, offset, fields);
                }
            }
            if (!(group instanceof UnionLayout)) {
                offset += member.byteSize();
            }
        }
    }

    private static String signature(FunctionDescriptor f) {
        var text = new StringBuilder(f.returnLayout().map(BindingsAgreeTest::type).orElse("void"));
        f.argumentLayouts().forEach(layout -> text.append(' ').append(type(layout)));
        return text.toString();
    }

    private static String type(MemoryLayout layout) {
        return switch (layout) {
            case AddressLayout _ -> "ptr";
            case ValueLayout.OfBoolean _ -> "bool";
            case ValueLayout.OfFloat _ -> "f4";
            case ValueLayout.OfDouble _ -> "f8";
            case ValueLayout v -> "i" + v.byteSize();
            case UnionLayout u -> "union(" + u.byteSize() + ")";
            case GroupLayout g -> "struct(" + g.byteSize() + ")";
            case SequenceLayout s -> "array(" + s.elementCount() + "," + type(s.elementLayout()) + ")";
            case PaddingLayout p -> "padding(" + p.byteSize() + ")";
        };
    }

    private static String constant(Object value) {
        return switch (value) {
            case Byte b -> String.format("i1 0x%02x", b);
            case Short s -> String.format("i2 0x%04x", s);
            case Integer i -> String.format("i4 0x%08x", i);
            case Long l -> String.format("i8 0x%016x", l);
            case Boolean b -> "bool " + (b ? 1 : 0);
            case Float f -> "f4 " + hexadecimal(f);
            case Double d -> "f8 " + hexadecimal(d);
            case MemorySegment text -> "string " + text.getString(0);
            default -> throw new AssertionError("unexpected constant of " + value.getClass());
        };
    }

    /** As C's %a prints it. */
    private static String hexadecimal(double value) {
        return Double.toHexString(value).replace(".0p", "p").replaceFirst("p(\\d)", "p+$1");
    }
}
