// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.contend.JavaLock;
import io.panalock.bench.contend.Lock;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.result.Stats;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** How claims are measured: for how long, how often, in turns. */
public class Bench {
    private static final int WINDOWS = 25;

    private final boolean quick;
    private final long warmNs;
    private final long windowNs;
    private final int windowedRepeats;
    private final int repeats;
    private final Map<String, Lock> forPairs = new HashMap<>();
    private final Map<String, Lock> forContention = new HashMap<>();

    Bench(boolean quick, long warmNs, long windowNs, int windowedRepeats, int repeats) {
        this.quick = quick;
        this.warmNs = warmNs;
        this.windowNs = windowNs;
        this.windowedRepeats = windowedRepeats;
        this.repeats = repeats;
    }

    /** 2 s a point. */
    static Bench full() {
        return new Bench(false, 50_000_000, 2_000_000_000, 11, 3);
    }

    /** 0.2 s a point. */
    static Bench brief() {
        return new Bench(true, 15_000_000, 200_000_000, 5, 3);
    }

    /** True when a group must be through in 45 seconds. */
    public boolean quick() {
        return quick;
    }

    /** How long all threads of a point run before it is measured. */
    public long warmNs() {
        return warmNs;
    }

    /** How long a point is measured. */
    public long windowNs() {
        return windowNs;
    }

    /** How often a point is measured. */
    public int repeats() {
        return repeats;
    }

    /** The same for points whose repeats are medians of windows. */
    public int windowedRepeats() {
        return windowedRepeats;
    }

    /** A copy of the lock's loops that only runs uncontended, if need be in a JVM of its own. */
    public Lock lockForPairs(String id) {
        return forPairs.computeIfAbsent(id, i -> {
            Lock lock = Locks.openForPairs(i);
            lock.warmUp();
            return lock;
        });
    }

    /** A copy of the lock's loops that several threads run. */
    public Lock lockForContention(String id) {
        return forContention.computeIfAbsent(id, i -> {
            Lock lock = Locks.open(i);
            if (lock instanceof JavaLock java) {
                java.warmUpContended();
            } else {
                lock.calibrate();
            }
            return lock;
        });
    }

    /** One repeat, or several, of every point: its metrics, by name. All points belong to one batch. */
    Map<Point, Map<String, double[]>> round(List<Point> points) {
        Map<Point, Map<String, double[]>> metrics = new LinkedHashMap<>();
        List<Point.Windowed> windowed = new ArrayList<>();
        for (Point point : points) {
            switch (point) {
                case Point.Windowed each -> windowed.add(each);
                case Point.Whole whole -> metrics.put(point, whole.measureSeveral(this));
            }
        }
        windows(windowed, metrics);
        return metrics;
    }

    /** Windows of all points in turns, so that whatever disturbs the machine hits all of them; each point's median. */
    private void windows(List<Point.Windowed> points, Map<Point, Map<String, double[]>> metrics) {
        double[][] windows = new double[points.size()][WINDOWS];
        for (int w = 0; w < WINDOWS; w++) {
            for (int i = 0; i < points.size(); i++) {
                windows[i][w] = points.get(i).window(this);
            }
        }
        for (int i = 0; i < points.size(); i++) {
            metrics.put(points.get(i), Map.of(Point.Windowed.TIME, new double[] {Stats.median(windows[i])}));
        }
    }
}
