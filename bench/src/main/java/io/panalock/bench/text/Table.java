// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.text;

import java.util.ArrayList;
import java.util.List;

/** A table in plain text: the first column to the left, the others to the right; columns without a word are left out. */
public final class Table {
    private final List<List<Cell>> rows = new ArrayList<>();

    public Table(String... heads) {
        row(java.util.Arrays.stream(heads).map(Cell::words).toArray(Cell[]::new));
    }

    public void row(Cell... cells) {
        rows.add(List.of(cells));
    }

    public void row(List<Cell> cells) {
        rows.add(List.copyOf(cells));
    }

    /** True when there is nothing but the heads. */
    public boolean isEmpty() {
        return rows.size() == 1;
    }

    /** All cells, heads included. */
    public List<Cell> cells() {
        return rows.stream().flatMap(List::stream).toList();
    }

    @Override
    public String toString() {
        int columns = rows.stream().mapToInt(List::size).max().orElse(0);
        boolean[] shown = new boolean[columns];
        for (int i = 0; i < columns; i++) {
            int column = i;
            shown[i] = isEmpty() || rows.stream().skip(1).anyMatch(row -> column < row.size() && !row.get(column).text().isEmpty());
        }
        int[] widths = new int[columns];
        for (List<Cell> row : rows) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], row.get(i).text().length());
            }
        }
        StringBuilder text = new StringBuilder();
        for (List<Cell> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < row.size(); i++) {
                if (!shown[i]) {
                    continue; // a ratio to what was not measured
                }
                String cell = row.get(i).text();
                String padding = " ".repeat(widths[i] - cell.length());
                line.append(i == 0 ? cell + padding : "   " + padding + cell);
            }
            text.append(line.toString().stripTrailing()).append(System.lineSeparator());
        }
        return text.toString();
    }
}
