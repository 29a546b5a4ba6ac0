// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Posix;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * A client of a pipe of tokens.
 *
 * <p>Invariant, under {@code lock}: a byte read from the pipe is in {@code held} until it is written back, so that exit finds
 * it. The implicit token is out or free. Only the reader thread reads bytes for those who wait, and only while somebody
 * waits: it sees the pipe readable, takes the lock, and then reads without blocking, for another process may have been
 * faster.
 */
final class MakeClient extends JobServer {
    static final Supplier<JobServer> ENVIRONMENT = once(() -> connect(System.getenv()));

    private static final int S_IFMT = 0170000;
    private static final int S_IFIFO = 0010000;

    private final MakeFlags flags;
    private final Optional<String> warning;
    private final Pipe pipe; // null: not connected
    private final Ledger ledger;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition wanted = lock.newCondition(); // the reader waits for somebody who waits
    private final Deque<Waiter> waiters = new ArrayDeque<>();
    private final Set<Held> held = new HashSet<>();
    private boolean implicitOut;
    private boolean reading; // the reader thread runs
    private boolean exiting;

    /** This process's own opening of the pipe. */
    record Pipe(int read, int write) {}

    private static final class Waiter {
        final Condition served;
        Held token;
        RuntimeException broken;

        Waiter(Condition served) {
            this.served = served;
        }
    }

    private MakeClient(MakeFlags flags, Pipe pipe, Ledger ledger, Optional<String> warning) {
        this.flags = flags;
        this.pipe = pipe;
        this.ledger = ledger;
        this.warning = warning;
    }

    private static <T> Supplier<T> once(Supplier<T> maker) {
        return new Supplier<>() {
            private T made;

            @Override
            public synchronized T get() {
                if (made == null) {
                    made = maker.get();
                }
                return made;
            }
        };
    }

    // ---- connecting ----

    static MakeClient connect(Map<String, String> environment) {
        MakeFlags flags = MakeFlags.parse(environment.getOrDefault("MAKEFLAGS", ""));
        return switch (flags.place()) {
            case MakeFlags.Place.Nowhere _ -> serial(flags, null);
            case MakeFlags.Place.Withheld _ -> serial(flags, "make keeps its jobserver from this recipe; add '+' to the recipe line");
            case MakeFlags.Place.Unknown(String value) ->
                serial(flags, "jobserver \"" + value + "\" is neither fifo:PATH nor two descriptors R,W");
            case MakeFlags.Place.Fifo(String path) -> fifo(flags, path, environment);
            case MakeFlags.Place.Descriptors(int read, int write) -> descriptors(flags, read, write, environment);
        };
    }

    private static MakeClient serial(MakeFlags flags, String warning) {
        if (warning != null) {
            System.getLogger("io.panalock.JobServer")
                    .log(System.Logger.Level.WARNING, "{0}. Jobs run one by one.", warning);
        }
        return new MakeClient(flags, null, null, Optional.ofNullable(warning));
    }

    private static MakeClient fifo(MakeFlags flags, String path, Map<String, String> environment) {
        // Make writes a dollar once for a recipe, and twice for a make, which is how our host writes it.
        String name = !new File(path).exists() && path.contains("$$") ? path.replace("$$", "$") : path;
        if (path.indexOf('\0') >= 0 || new File(name).exists() && pipe(name) == null) { // or bytes of a file would be tokens
            return serial(flags, "the jobserver's fifo " + name + " is no fifo");
        }
        // Opened for both, so that it neither blocks for a peer nor ends when make closes its own.
        int fd = Posix.open(name, Posix.O_RDWR | Posix.O_NONBLOCK | Posix.O_CLOEXEC);
        return fd < 0
                ? serial(flags, "cannot open the jobserver's fifo " + name + ": error " + -fd)
                : connected(flags, new Pipe(fd, fd), environment);
    }

    private static MakeClient descriptors(MakeFlags flags, int read, int write, Map<String, String> environment) {
        // Closed ones may be open again, for files of this JVM: bytes of a library would be tokens.
        Object pipe = pipe("/proc/self/fd/" + read);
        if (pipe == null || !pipe.equals(pipe("/proc/self/fd/" + write)) || !Posix.canRead(read) || !Posix.canWrite(write)) {
            return serial(flags, "the jobserver's descriptors " + read + "," + write
                    + " are closed, or no pipe of make's; add '+' to the recipe line, or call $(MAKE) in it");
        }
        int in = Posix.open("/proc/self/fd/" + read, Posix.O_RDONLY | Posix.O_NONBLOCK | Posix.O_CLOEXEC);
        return in < 0
                ? serial(flags, "cannot open the jobserver's descriptor " + read + " anew: error " + -in)
                : connected(flags, new Pipe(in, write), environment);
    }

    /** Which pipe or FIFO the file is; null if it is none. */
    private static Object pipe(String path) {
        try {
            Map<String, Object> file = Files.readAttributes(Path.of(path), "unix:mode,ino,dev");
            boolean pipe = ((int) file.get("mode") & S_IFMT) == S_IFIFO;
            return pipe ? List.of(file.get("dev"), file.get("ino")) : null;
        } catch (IOException | InvalidPathException e) {
            return null;
        }
    }

    private static MakeClient connected(MakeFlags flags, Pipe pipe, Map<String, String> environment) {
        MakeClient client = new MakeClient(flags, pipe, Ledger.named(environment, pipe.read()), Optional.empty());
        Runtime.getRuntime().addShutdownHook(new Thread(client::returnAll, "panalock-jobserver-exit"));
        return client;
    }

    @Override
    public boolean isConnected() {
        return pipe != null;
    }

    @Override
    public Optional<String> warning() {
        return warning;
    }

    @Override
    public boolean isDryRun() {
        return flags.dryRun();
    }

    @Override
    public String toString() {
        return "JobServer[" + flags.place() + (isConnected() ? "" : ", not connected") + "]";
    }

    // ---- taking ----

    @Override
    public Token acquire() throws InterruptedException {
        return take(Long.MAX_VALUE);
    }

    @Override
    public Optional<Token> tryAcquire() {
        lock.lock();
        try {
            Held token = implicit();
            if (token == null && waiters.isEmpty() && isConnected()) {
                token = read();
            }
            return Optional.ofNullable(token);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public Optional<Token> tryAcquire(Duration limit) throws InterruptedException {
        long nanos = TimeUnit.NANOSECONDS.convert(limit);
        return nanos <= 0 ? tryAcquire() : Optional.ofNullable(take(nanos));
    }

    private Held take(long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            Held token = implicit();
            if (token != null) {
                return token;
            }
            Waiter waiter = new Waiter(lock.newCondition());
            waiters.add(waiter);
            try {
                long left = nanos;
                startReader();
                while (waiter.token == null && left > 0) {
                    if (waiter.broken != null) {
                        throw waiter.broken;
                    }
                    left = nanos == Long.MAX_VALUE ? forever(waiter) : waiter.served.awaitNanos(left);
                }
                token = waiter.token;
                waiter.token = null;
                return token;
            } finally {
                waiters.remove(waiter);
                if (waiter.token != null) {
                    give(waiter.token); // interrupted just when it was served
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private static long forever(Waiter waiter) throws InterruptedException {
        waiter.served.await();
        return Long.MAX_VALUE;
    }

    private Held implicit() {
        if (implicitOut || exiting) {
            return null;
        }
        implicitOut = true;
        return new Held(this, Held.IMPLICIT, null);
    }

    /** A byte, or null if there is none now. */
    private Held read() {
        if (exiting) {
            return null;
        }
        Ledger.Entry entry = ledger == null ? null : ledger.begin();
        int value = entry == null ? Posix.readByte(pipe.read()) : entry.take(pipe.read());
        if (value == -Posix.EAGAIN) {
            return null;
        }
        if (value < 0) {
            throw new IllegalStateException("the jobserver's pipe cannot be read: "
                    + (value == -Posix.EPIPE ? "make has closed it" : "error " + -value));
        }
        Held token = new Held(this, value, entry);
        held.add(token);
        return token;
    }

    // ---- the reader ----

    private void startReader() {
        wanted.signal();
        if (!reading && isConnected()) {
            reading = true;
            Thread.ofPlatform()
                    .daemon()
                    .inheritInheritableThreadLocals(false)
                    .name("panalock-jobserver")
                    .start(this::readForOthers);
        }
    }

    private void readForOthers() {
        while (true) {
            int ready = Posix.pollIn(pipe.read(), -1);
            lock.lock();
            try {
                if (ready < 0 && ready != -Posix.EINTR) {
                    fail(new IllegalStateException("the jobserver's pipe cannot be watched: error " + -ready));
                    return;
                }
                while (waiters.isEmpty()) {
                    wanted.awaitUninterruptibly();
                }
                serve();
            } catch (RuntimeException | Error e) { // whoever waits must hear of it, or waits for ever
                fail(e instanceof IllegalStateException known ? known : new IllegalStateException("the jobserver's reader failed", e));
                return;
            } finally {
                lock.unlock();
            }
        }
    }

    private void serve() {
        for (Waiter waiter : waiters) {
            if (waiter.token == null) {
                Held token = read();
                if (token == null) {
                    return;
                }
                waiter.token = token;
                waiter.served.signal();
            }
        }
    }

    private void fail(IllegalStateException why) {
        reading = false;
        for (Waiter waiter : waiters) {
            waiter.broken = why;
            waiter.served.signal();
        }
    }

    // ---- giving back ----

    private void give(Held token) {
        lock.lock();
        try {
            if (token.value == Held.IMPLICIT) {
                implicitOut = false;
                Waiter first = waiters.peek();
                if (first != null && first.token == null && !exiting) {
                    implicitOut = true;
                    first.token = new Held(this, Held.IMPLICIT, null);
                    first.served.signal();
                }
            } else if (held.remove(token)) {
                writeBack(token);
            }
        } finally {
            lock.unlock();
        }
    }

    private void writeBack(Held token) {
        int error = token.entry == null ? Posix.writeByte(pipe.write(), token.value) : token.entry.giveBack(pipe.write());
        if (error != 0 && !exiting) {
            throw new IllegalStateException("a token cannot be returned to the jobserver: error " + -error);
        }
    }

    private void returnAll() {
        lock.lock();
        try {
            exiting = true;
            held.forEach(this::writeBack);
            held.clear();
        } finally {
            lock.unlock();
        }
    }

    /** A token that is out. */
    static final class Held implements Token {
        static final int IMPLICIT = -1;

        private final MakeClient owner;
        private final int value; // the byte, unless an entry has it
        private final Ledger.Entry entry;
        private final AtomicBoolean closed = new AtomicBoolean();

        private Held(MakeClient owner, int value, Ledger.Entry entry) {
            this.owner = owner;
            this.value = value;
            this.entry = entry;
        }

        @Override
        public boolean isImplicit() {
            return value == IMPLICIT;
        }

        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                owner.give(this);
            }
        }

        @Override
        public String toString() {
            return "Token[" + (isImplicit() ? "implicit" : entry != null ? entry : value) + "]";
        }
    }
}
