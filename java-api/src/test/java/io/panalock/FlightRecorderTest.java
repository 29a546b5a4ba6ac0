// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FlightRecorderTest {
    private static final String EVENT = "io.panalock.QSpinLockContended";

    private static final Duration THRESHOLD = Duration.ofMillis(200);

    @TempDir
    Path directory;

    @Test
    void waitsAboveTheThresholdAreRecorded() throws Exception {
        QSpinLock lock = QSpinLock.builder().name("orders").allocate();
        List<RecordedEvent> events;
        boolean firstWasShort; // on a machine that is busy with other things even the short wait may be long
        try (Recording recording = new Recording()) {
            recording.enable(EVENT).withThreshold(THRESHOLD);
            recording.start();
            long begin = System.nanoTime();
            waitFor(lock, 0, Thread.ofPlatform());
            firstWasShort = System.nanoTime() - begin < THRESHOLD.toNanos();
            waitFor(lock, 250, Thread.ofPlatform());
            waitFor(lock, 250, Thread.ofVirtual());
            lock.lock();
            assertThat(lock.tryLock(250, TimeUnit.MILLISECONDS)).isFalse();
            lock.unlock();
            recording.stop();
            Path file = directory.resolve("recording.jfr");
            recording.dump(file);
            events = RecordingFile.readAllEvents(file);
        }
        assertThat(events).hasSizeBetween(3, firstWasShort ? 3 : 4).allSatisfy(e -> {
            assertThat(e.getEventType().getName()).isEqualTo(EVENT);
            assertThat(e.getString("lock")).isEqualTo("orders");
            assertThat(e.getString("layout")).isEqualTo("WIDE");
            assertThat(e.getString("backend")).isEqualTo("HYBRID");
            assertThat(e.getDuration()).isBetween(THRESHOLD, Duration.ofSeconds(60));
            assertThat(e.getStackTrace().getFrames()).isNotEmpty();
        });
        assertThat(events.stream().filter(e -> !e.getBoolean("acquired"))).hasSize(1);
    }

    private static void waitFor(QSpinLock lock, int millis, Thread.Builder kind) throws InterruptedException {
        lock.lock();
        Thread waiter = kind.start(() -> {
            lock.lock();
            lock.unlock();
        });
        Eventually.asleep(lock);
        Thread.sleep(millis);
        lock.unlock();
        Eventually.join(waiter);
    }
}
