// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.internal.Posix;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(900)
class JobServerTest {
    private static final int PERCENT = Integer.parseInt(System.getenv().getOrDefault("PANALOCK_TEST_PERCENT", "100"));
    private static final int ROUNDS = fewer(6); // of killing a JVM

    /** Of so many JVMs at least one, where they take long to start. */
    private static int fewer(int count) {
        return Math.max(1, count * Math.min(PERCENT, 100) / 100);
    }

    @TempDir
    Path directory;

    private static JobServer client(JobServerHost host) {
        return JobServer.from(host.command("unused").environment());
    }

    private static JobServer client(String makeFlags) {
        return JobServer.from(Map.of("MAKEFLAGS", makeFlags));
    }

    // ---- without a jobserver ----

    @Test
    void withoutOneJobsRunOneByOne() throws Exception {
        JobServer jobs = JobServer.from(Map.of());
        assertThat(jobs.isConnected()).isFalse();
        assertThat(jobs.warning()).isEmpty();
        JobServer.Token first = jobs.acquire();
        assertThat(first.isImplicit()).isTrue();
        assertThat(jobs.tryAcquire()).isEmpty();
        assertThat(jobs.tryAcquire(Duration.ofMillis(20))).isEmpty();
        AtomicInteger got = new AtomicInteger();
        Thread second = Thread.ofVirtual().start(() -> {
            try (JobServer.Token _ = jobs.acquire()) {
                got.incrementAndGet();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        Eventually.until("second waits", () -> second.getState() == Thread.State.WAITING);
        first.close();
        first.close(); // no second implicit token
        second.join();
        assertThat(got).hasValue(1);
        assertThat(jobs.tryAcquire()).isPresent();
        assertThat(jobs.tryAcquire()).isEmpty();
    }

    @Test
    void whatCannotBeReachedIsSaidAndWorkGoesOnOneByOne() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "no tokens");
        for (String flags : List.of(
                "--jobserver-auth=993,994", "--jobserver-auth=fifo:" + file, "--jobserver-auth=fifo:" + directory,
                "--jobserver-auth=fifo:\0", "--jobserver-auth=fifo:", "--jobserver-auth=", "--jobserver-auth=3",
                "--jobserver-auth=3,", "--jobserver-auth=99999999999,1", "--jobserver-auth=-2,-2", "--jobserver-auth=sem:1",
                "--jobserver-auth=fifo:" + directory.resolve("gone"))) {
            JobServer jobs = client(flags);
            assertThat(jobs.isConnected()).isFalse();
            assertThat(jobs.warning()).isPresent();
            assertThat(jobs.tryAcquire()).isPresent();
            assertThat(jobs.tryAcquire()).isEmpty();
        }
        assertThat(client("--jobserver-auth=993,994").warning().orElseThrow()).contains("'+'");
        assertThat(file).hasContent("no tokens");
    }

    /** When make has not passed its pipe on, its numbers may belong to files that this JVM has opened since. */
    @Test
    void descriptorsThatAreNoPipeAreNotRead() throws IOException {
        Path file = Files.writeString(directory.resolve("library"), "bytes");
        int regular = Posix.open(file.toString(), Posix.O_RDWR);
        List<Integer> ends = new ArrayList<>();
        for (String name : List.of("one", "two")) {
            Posix.mkfifo(directory.resolve(name).toString());
            ends.add(Posix.open(directory.resolve(name).toString(), Posix.O_RDWR | Posix.O_NONBLOCK));
        }
        int reads = Posix.open(directory.resolve("one").toString(), Posix.O_RDONLY | Posix.O_NONBLOCK);
        for (String pair : List.of(
                regular + "," + regular, ends.get(0) + "," + ends.get(1), reads + "," + reads, ends.get(0) + "," + regular)) {
            assertThat(client("-j2 --jobserver-auth=" + pair).warning()).describedAs(pair).isPresent();
        }
        assertThat(client("-j2 --jobserver-auth=" + reads + "," + ends.get(0)).isConnected()).isTrue();
        assertThat(file).hasContent("bytes");
        Posix.close(regular);
        Posix.close(reads);
        ends.forEach(Posix::close);
    }

    @Test
    void wordsMayHoldBlanks() throws IOException {
        Path odd = Files.createDirectory(directory.resolve("a \\b$c'\"d"));
        assertThat(Posix.mkfifo(odd.resolve("fifo").toString())).isZero();
        String path = odd.resolve("fifo").toString();
        assertThat(client("n --jobserver-auth=fifo:" + MakeFlags.quote(path)).isConnected()).isTrue();
        // As make 4.4 writes it for a recipe; what looks like an option is part of another one's argument.
        String recipe = path.replace("\\", "\\\\").replace(" ", "\\ ");
        JobServer jobs = client(" -j3 --jobserver-auth=fifo:" + recipe + " --eval=x:\\ --jobserver-auth=9,9 -- V=\\ --jobserver-auth=8,8");
        assertThat(jobs.isConnected()).isTrue();
        assertThat(jobs.isDryRun()).isFalse();
        assertThat(client("").isDryRun()).isFalse();
        assertThat(client(" ").isConnected()).isFalse();
    }

    @Test
    void dryRunIsTold() {
        assertThat(client("n -j2").isDryRun()).isTrue();
        assertThat(client("-j2").isDryRun()).isFalse();
    }

    // ---- with one ----

    @Test
    void theSameByteGoesBack() throws Exception {
        Path fifo = directory.resolve("fifo");
        assertThat(Posix.mkfifo(fifo.toString())).isZero();
        int fd = Posix.open(fifo.toString(), Posix.O_RDWR | Posix.O_NONBLOCK);
        Posix.writeByte(fd, 'x');
        Posix.writeByte(fd, 0xfe);
        JobServer jobs = client("-j3 --jobserver-auth=fifo:" + fifo);
        List<JobServer.Token> tokens = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            tokens.add(jobs.acquire());
        }
        assertThat(tokens.get(0).isImplicit()).isTrue();
        assertThat(tokens.get(1).isImplicit()).isFalse();
        assertThat(jobs.tryAcquire()).isEmpty();
        tokens.get(2).close();
        assertThat(Posix.readByte(fd)).isEqualTo(0xfe);
        tokens.get(0).close();
        assertThat(Posix.readByte(fd)).isEqualTo(-Posix.EAGAIN);
        tokens.get(1).close();
        tokens.get(1).close();
        assertThat(Posix.readByte(fd)).isEqualTo('x');
        assertThat(Posix.readByte(fd)).isEqualTo(-Posix.EAGAIN);
        Posix.close(fd);
    }

    @Test
    void noMoreJobsThanTokensAndNoneLost() throws Exception {
        try (JobServerHost host = JobServerHost.create(4)) {
            JobServer jobs = client(host);
            AtomicInteger running = new AtomicInteger();
            AtomicInteger most = new AtomicInteger();
            try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (int i = 0; i < 400; i++) {
                    threads.submit(() -> {
                        try (JobServer.Token _ = jobs.acquire()) {
                            most.accumulateAndGet(running.incrementAndGet(), Math::max);
                            Thread.sleep(1);
                            running.decrementAndGet();
                        }
                        return null;
                    });
                }
            }
            assertThat(most.get()).isBetween(2, 4);
            assertThat(host.available()).isEqualTo(3);
        }
    }

    @Test
    void interruptionsAndTimeOutsLoseNoToken() throws Exception {
        try (JobServerHost host = JobServerHost.create(3)) {
            JobServer jobs = client(host);
            List<Thread> threads = new ArrayList<>();
            AtomicInteger got = new AtomicInteger();
            for (int i = 0; i < 12; i++) {
                int seed = i;
                threads.add(Thread.ofPlatform().start(() -> {
                    for (int k = 0; k < 200; k++) {
                        try {
                            Optional<JobServer.Token> token = (k + seed) % 3 == 0
                                    ? Optional.of(jobs.acquire())
                                    : jobs.tryAcquire(Duration.ofNanos(20_000L * (k % 7)));
                            token.ifPresent(t -> {
                                got.incrementAndGet();
                                t.close();
                            });
                        } catch (InterruptedException e) {
                            // the next round
                        }
                    }
                }));
            }
            while (threads.stream().anyMatch(Thread::isAlive)) {
                threads.forEach(Thread::interrupt);
                Thread.sleep(1);
            }
            assertThat(got.get()).isPositive();
            assertThat(host.available()).isEqualTo(2);
            assertThat(jobs.tryAcquire().orElseThrow().isImplicit()).isTrue();
        }
    }

    /** The hang of make 4.2.1: two see the pipe readable, one takes the byte, the other one is stuck in read. */
    @Test
    void whoComesSecondToAByteIsNotStuckInARead() throws Exception {
        try (JobServerHost host = JobServerHost.create(2)) {
            JobServer one = client(host);
            JobServer two = client(host);
            List<JobServer.Token> implicit = List.of(one.acquire(), two.acquire());
            AtomicInteger got = new AtomicInteger();
            AtomicInteger gaveUp = new AtomicInteger();
            List<Thread> threads = new ArrayList<>();
            for (JobServer client : List.of(one, two)) {
                threads.add(Thread.ofPlatform().start(() -> {
                    for (int i = 0; i < 300; i++) {
                        try {
                            JobServer.Token token = client.acquire();
                            got.incrementAndGet();
                            token.close();
                        } catch (InterruptedException e) {
                            gaveUp.incrementAndGet(); // what make does when a child of its ends meanwhile
                        }
                    }
                }));
            }
            while (threads.stream().anyMatch(Thread::isAlive)) {
                threads.forEach(Thread::interrupt);
                Thread.sleep(2);
            }
            assertThat(got.get() + gaveUp.get()).isEqualTo(600);
            assertThat(got.get()).isPositive();
            assertThat(host.available()).isEqualTo(1);
            implicit.forEach(JobServer.Token::close);
        }
    }

    @Test
    void anExceptionReturnsTheToken() throws Exception {
        try (JobServerHost host = JobServerHost.create(2)) {
            JobServer jobs = client(host);
            JobServer.Token implicit = jobs.acquire();
            assertThatThrownBy(() -> {
                        try (JobServer.Token _ = jobs.acquire()) {
                            throw new IOException("the job failed");
                        }
                    })
                    .hasMessage("the job failed");
            assertThat(host.available()).isEqualTo(1);
            implicit.close();
        }
    }

    // ---- other processes ----

    /** Takes as many tokens as it is told, says so, and then does what it is told. */
    static final class Taker {
        public static void main(String[] arguments) throws Exception {
            JobServer jobs = JobServer.fromEnvironment();
            for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
                jobs.acquire();
            }
            System.out.println("connected " + jobs.isConnected() + " nonblocking " + nonBlocking(8));
            if (arguments[1].equals("hang")) {
                Files.createFile(Path.of(arguments[2]));
                Thread.sleep(Duration.ofMinutes(5));
            }
        }

        /** Of a descriptor that make passed on, if there is one. */
        private static boolean nonBlocking(int fd) throws IOException {
            Path info = Path.of("/proc/self/fdinfo/" + fd);
            if (!System.getenv("MAKEFLAGS").endsWith(fd + "," + fd)) {
                return false;
            }
            String flags = Files.readAllLines(info).get(1).split("\\s+")[1];
            return (Integer.parseInt(flags, 8) & Posix.O_NONBLOCK) != 0;
        }
    }

    private static Child taker(JobServerHost host, Object... arguments) {
        return Child.running(Taker.class)
                .in(host.command("unused").environment())
                .inside(host.command().command().toArray(String[]::new))
                .arguments(arguments);
    }

    @Test
    void exitReturnsWhatWasNotClosed() throws Exception {
        for (JobServerHost.Style style : Arrays.copyOf(JobServerHost.Style.values(), fewer(2))) {
            try (JobServerHost host = JobServerHost.create(5, style)) {
                Child.Result r = taker(host, 4, "exit").run();
                assertThat(r.output()).contains("connected true nonblocking false");
                assertThat(r.exitCode()).isZero();
                assertThat(host.available()).isEqualTo(4);
            }
        }
    }

    @Test
    void tokensOfAKilledClientAreRecovered() throws Exception {
        try (JobServerHost host = JobServerHost.create(5)) {
            Path ready = directory.resolve("ready");
            Process p = taker(host, 4, "hang", ready).start(directory.resolve("out"));
            Eventually.until("the child is ready", () -> Files.exists(ready));
            assertThat(host.recover()).isZero();
            assertThat(host.available()).isEqualTo(1);
            p.destroyForcibly().waitFor();
            assertThat(host.recover()).isEqualTo(3);
            assertThat(host.available()).isEqualTo(4);
            assertThat(host.reset()).isZero();
        }
    }

    /** Takes and gives back as fast as it can, until it is killed. */
    static final class Juggler {
        public static void main(String[] arguments) throws Exception {
            JobServer jobs = JobServer.fromEnvironment();
            jobs.acquire();
            while (true) {
                jobs.acquire().close();
                Files.write(Path.of(arguments[0]), new byte[1]);
            }
        }
    }

    @Test
    void aClientThatIsKilledAtAnyInstantLosesNoTokenAndAddsNone() throws Exception {
        Random random = new Random(3);
        try (JobServerHost host = JobServerHost.create(3)) {
            for (int round = 0; round < ROUNDS; round++) {
                Path ready = directory.resolve("ready" + round);
                Process p = Child.running(Juggler.class)
                        .in(host.command("unused").environment())
                        .arguments(ready)
                        .start(directory.resolve("out" + round));
                Eventually.until("the child takes tokens", () -> Files.exists(ready));
                Thread.sleep(random.nextInt(30));
                p.destroyForcibly().waitFor();
                assertThat(host.recover()).isBetween(0, 1);
                assertThat(host.available()).describedAs("round " + round).isEqualTo(2);
            }
        }
    }

    @Test
    void aLedgerIsForItsOwnPipeOnly() throws Exception {
        try (JobServerHost outer = JobServerHost.create(2); JobServerHost inner = JobServerHost.create(2)) {
            // A recipe of a make that was started inside with its own -j: its pipe, but the outer one's ledger.
            Map<String, String> environment = outer.command("unused").environment();
            environment.put("MAKEFLAGS", inner.makeFlags());
            JobServer jobs = JobServer.from(environment);
            try (JobServer.Token _ = jobs.acquire();
                    JobServer.Token second = jobs.tryAcquire().orElseThrow()) {
                assertThat(second).hasToString("Token[43]"); // '+'
                assertThat(outer.available()).isEqualTo(1);
                assertThat(inner.available()).isZero();
                assertThat(outer.recover() + inner.recover()).isZero();
            }
            assertThat(outer.available()).isEqualTo(1);
            assertThat(inner.available()).isEqualTo(1);
        }
    }

    @Test
    void aLedgerTakesNoRoomOnADisk() throws Exception {
        try (JobServerHost host = JobServerHost.create(8)) {
            Path locks = Path.of(host.makeFlags().replaceAll(".*fifo:", "")).resolveSibling("locks");
            assertThat(host.isRecorded()).isTrue();
            assertThat(Files.size(locks)).isEqualTo(7);
            assertThat(Files.readAllBytes(locks)).containsOnly(0); // never written
        }
    }

    @Test
    void moreJobsThanAPipeHasBuffersAreNotRecorded() throws Exception {
        try (JobServerHost host = JobServerHost.create(JobServerHost.MAX_JOBS)) {
            JobServer jobs = client(host);
            for (int i = 0; i < JobServerHost.MAX_JOBS; i++) {
                assertThat(jobs.tryAcquire()).isPresent();
            }
            assertThat(jobs.tryAcquire()).isEmpty();
            if (!host.isRecorded()) { // a system may be more generous
                assertThat(host.reset()).isEqualTo(JobServerHost.MAX_JOBS - 1);
            }
        }
    }

    /** Moved bytes take a buffer of the pipe each; a write by others must find room all the same, whatever the order. */
    @Test
    void tokensThatWereMovedNeverFillThePipe() throws Exception {
        int count = 40;
        try (JobServerHost host = JobServerHost.create(count)) {
            assertThat(host.isRecorded()).isTrue();
            int fd = Posix.open(host.makeFlags().replaceAll(".*fifo:", ""), Posix.O_RDWR | Posix.O_NONBLOCK);
            JobServer jobs = client(host);
            Random random = new Random(11);
            List<JobServer.Token> ours = new ArrayList<>();
            int make = 0;
            for (int i = 0; i < fewer(20_000); i++) {
                switch (random.nextInt(4)) {
                    case 0 -> jobs.tryAcquire().ifPresent(ours::add);
                    case 1 -> make += Posix.readByte(fd) >= 0 ? 1 : 0;
                    case 2 -> {
                        if (!ours.isEmpty()) {
                            ours.remove(random.nextInt(ours.size())).close();
                        }
                    }
                    default -> {
                        if (make > 0) {
                            assertThat(Posix.writeByte(fd, '+')).isZero();
                            make--;
                        }
                    }
                }
            }
            ours.forEach(JobServer.Token::close);
            for (; make > 0; make--) {
                assertThat(Posix.writeByte(fd, '+')).isZero();
            }
            assertThat(host.available()).isEqualTo(count - 1);
            Posix.close(fd);
        }
    }

    /** What a recipe starts: uses a second token if there is one. */
    static final class Recipe {
        public static void main(String[] arguments) throws Exception {
            JobServer jobs = JobServer.fromEnvironment();
            try (JobServer.Token _ = jobs.acquire()) {
                jobs.tryAcquire(Duration.ofMillis(5)).ifPresent(JobServer.Token::close);
            }
            System.out.println("recipe " + arguments[0] + " connected " + jobs.isConnected());
        }
    }

    private Child.Result make(List<String> command, Map<String, String> environment) throws Exception {
        Path out = directory.resolve("make.out");
        ProcessBuilder b = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile());
        b.environment().keySet().removeAll(List.of("MAKEFLAGS", "MAKELEVEL"));
        b.environment().putAll(environment);
        Process p = b.start();
        assertThat(p.waitFor(5, TimeUnit.MINUTES)).isTrue();
        return new Child.Result(p.exitValue(), Files.readString(out));
    }

    @Test
    void aRecipeOfRealMakeIsAClientWhateverItsVersion() throws Exception {
        int targets = fewer(6);
        Makefile.write(directory, targets, "+", Recipe.class, "");
        Path odd = Files.createDirectory(directory.resolve("a place for FIFOs"));
        List<String> makes = Makefile.makes();
        for (String make : makes.subList(0, fewer(makes.size()))) { // both join one server in another test
            Child.Result r = make(List.of(make, "-j3"), Map.of("TMPDIR", odd.toString()));
            assertThat(r.exitCode()).describedAs(r.output()).isZero();
            assertThat(r.output()).doesNotContain("INTERNAL").doesNotContain("warning");
            for (int i = 0; i < targets; i++) {
                assertThat(r.output()).contains("recipe t" + i + " connected true");
            }
        }
    }

    @Test
    void aRecipeWithoutThePlusIsToldWhatToDo() throws Exception {
        Makefile.write(directory, 1, "", Recipe.class, "");
        Child.Result r = make(List.of("make", "-j3"), Map.of());
        assertThat(r.exitCode()).describedAs(r.output()).isZero();
        if (r.output().contains("connected false")) { // one with a FIFO has nothing to keep to itself
            assertThat(r.output()).contains("'+'");
        } else {
            assertThat(r.output()).contains("recipe t0 connected true");
        }
    }

    @Test
    void severalRealMakesOfTwoVersionsShareOneServer() throws Exception {
        Makefile.write(directory, fewer(5), "+", Recipe.class, "");
        try (JobServerHost host = JobServerHost.create(4, JobServerHost.Style.DESCRIPTORS)) {
            List<Process> running = new ArrayList<>();
            for (String make : Makefile.makes()) {
                running.add(host.command(make)
                        .directory(directory.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(directory.resolve("make" + running.size() + ".out").toFile())
                        .start());
            }
            for (int i = 0; i < running.size(); i++) {
                assertThat(running.get(i).waitFor(5, TimeUnit.MINUTES)).isTrue();
                String text = Files.readString(directory.resolve("make" + i + ".out"));
                assertThat(running.get(i).exitValue()).describedAs(text).isZero();
                assertThat(text).contains("connected true").doesNotContain("connected false").doesNotContain("warning");
            }
            assertThat(host.available()).isEqualTo(3);
        }
    }

    @Test
    void aMakeFindsAServersFifoIfItKnowsThem() throws Exception {
        Makefile.write(directory, fewer(3), "+", Recipe.class, "");
        String make = Makefile.makes().stream().filter(JobServerTest::knowsFifos).findFirst().orElseThrow();
        try (JobServerHost host = JobServerHost.create(3, JobServerHost.Style.FIFO)) {
            Child.Result r = make(List.of(make), host.command("unused").environment());
            assertThat(r.exitCode()).describedAs(r.output()).isZero();
            assertThat(r.output()).contains("recipe t0 connected true").doesNotContain("warning");
            assertThat(host.available()).isEqualTo(2);
        }
    }

    private static boolean knowsFifos(String make) {
        try {
            Process p = new ProcessBuilder(make, "--help").redirectErrorStream(true).start();
            return new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8).contains("--jobserver-style");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // ---- the host ----

    @Test
    void badInputIsRefused() throws Exception {
        assertThatThrownBy(() -> JobServerHost.create(0)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("4096");
        assertThatThrownBy(() -> JobServerHost.create(4097)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> JobServerHost.create(2, null)).isInstanceOf(NullPointerException.class);
        JobServerHost host = JobServerHost.create(1);
        assertThat(host.available()).isZero();
        host.close();
        host.close();
        assertThatThrownBy(host::available).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
        assertThatThrownBy(() -> host.command("make")).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aResetPutsBackWhatIsMissingAndTakesOutWhatIsTooMuch() throws Exception {
        try (JobServerHost host = JobServerHost.create(4)) {
            String fifo = host.makeFlags().replaceAll(".*fifo:", "");
            int fd = Posix.open(fifo, Posix.O_RDWR | Posix.O_NONBLOCK);
            assertThat(Posix.readByte(fd)).isEqualTo('+');
            assertThat(host.reset()).isEqualTo(1);
            assertThat(host.available()).isEqualTo(3);
            Posix.writeByte(fd, '+');
            assertThat(host.reset()).isEqualTo(-1);
            assertThat(host.available()).isEqualTo(3);
            Posix.close(fd);
        }
    }
}
