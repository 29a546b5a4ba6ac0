// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import io.panalock.Backend;
import io.panalock.JobServer;
import io.panalock.JobServerHost;
import io.panalock.TokenPipe;
import io.panalock.bench.peer.PosixPipe;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Something that a token goes through, between threads of one JVM. {@link #IGNORED} is the second token. */
interface TokenWay extends AutoCloseable {
    int IGNORED = -1;

    /** The ways by name; those of the library first. */
    List<String> NAMES = List.of(
            "exclusive", "wake_all", "greedy", "pipe", "semaphore", "synchronous_queue", "transfer_queue", "jobserver", "make");

    /** What one player does; each has an object of its own. */
    interface Hand {
        /** The next token, or {@link #IGNORED}. Waits. */
        int take() throws InterruptedException;

        /** Writes the token, and if {@code second} another one to be ignored. */
        void put(int token, boolean second) throws InterruptedException;
    }

    Hand hand();

    /** All players have ended. */
    @Override
    void close();

    static TokenWay open(String name, Backend backend) {
        return switch (name) {
            case "exclusive" -> new Ours(backend);
            case "wake_all" -> new Ours(backend, TokenPipe.Mode.WAKE_ALL);
            case "greedy" -> new Ours(backend, TokenPipe.Mode.GREEDY);
            case "pipe" -> new Kernels();
            case "semaphore" -> new Permits();
            case "synchronous_queue" -> new HandOver();
            case "transfer_queue" -> new Transfer();
            case "jobserver" -> Jobs.ofOurHost();
            case "make" -> new Jobs(null, JobServer.fromEnvironment());
            default -> throw new IllegalArgumentException(name);
        };
    }

    /** The token pipe. */
    final class Ours implements TokenWay {
        private final TokenPipe pipe;
        private final TokenPipe.Writer out;
        private final TokenPipe.Reader in;

        Ours(Backend backend, TokenPipe.Mode... modes) {
            pipe = TokenPipe.builder().backend(backend).modes(modes).allocate(4096);
            out = pipe.openWriter();
            in = pipe.openReader();
        }

        @Override
        public Hand hand() {
            MemorySegment two = MemorySegment.ofArray(new int[] {0, IGNORED});
            MemorySegment one = two.asSlice(0, Integer.BYTES);
            return new Hand() {
                @Override
                public int take() throws InterruptedException {
                    in.read(one);
                    return one.get(ValueLayout.JAVA_INT, 0);
                }

                @Override
                public void put(int token, boolean second) throws InterruptedException {
                    one.set(ValueLayout.JAVA_INT, 0, token);
                    out.write(second ? two : one);
                }
            };
        }

        @Override
        public void close() {
            out.close();
            in.close();
        }
    }

    /** pipe(2), by read and write over FFM. */
    final class Kernels implements TokenWay {
        private final PosixPipe pipe = new PosixPipe();

        @Override
        public Hand hand() {
            MemorySegment buffer = pipe.buffer(2L * Integer.BYTES);
            return new Hand() {
                @Override
                public int take() {
                    pipe.read(buffer, Integer.BYTES);
                    return buffer.get(ValueLayout.JAVA_INT, 0);
                }

                @Override
                public void put(int token, boolean second) {
                    buffer.set(ValueLayout.JAVA_INT, 0, token);
                    buffer.set(ValueLayout.JAVA_INT, Integer.BYTES, IGNORED);
                    pipe.write(buffer, second ? 2 * Integer.BYTES : Integer.BYTES);
                }
            };
        }

        @Override
        public void close() {
            pipe.close();
        }
    }

    /** A semaphore and a field; who comes second finds the field empty. */
    final class Permits implements TokenWay, Hand {
        private final Semaphore permits = new Semaphore(0);
        private final AtomicInteger field = new AtomicInteger(IGNORED);

        @Override
        public Hand hand() {
            return this;
        }

        @Override
        public int take() throws InterruptedException {
            permits.acquire();
            return field.getAndSet(IGNORED);
        }

        @Override
        public void put(int token, boolean second) {
            field.set(token);
            permits.release(second ? 2 : 1);
        }

        @Override
        public void close() {}
    }

    /**
     * Who writes the token waits for a reader; the second one is for those who wait already, or with few players all might
     * write and none read. The token that ends the game stays, for the last player finds nobody to give it to.
     */
    final class HandOver implements TokenWay {
        private static final int LOOK_MS = 100; // for one that began to wait just when the game ended
        private final SynchronousQueue<Integer> queue = new SynchronousQueue<>();
        private volatile int last = IGNORED;

        @Override
        public Hand hand() {
            return new Hand() {
                private int taken = IGNORED;

                @Override
                public int take() throws InterruptedException {
                    Integer token = null;
                    while (token == null) {
                        token = last != IGNORED ? Integer.valueOf(last) : queue.poll(LOOK_MS, TimeUnit.MILLISECONDS);
                    }
                    taken = token;
                    return token;
                }

                @Override
                public void put(int token, boolean second) throws InterruptedException {
                    if (token == taken) {
                        last = token;
                        boolean somebodyWaits = true;
                        while (somebodyWaits) {
                            somebodyWaits = queue.offer(token);
                        }
                        return;
                    }
                    queue.put(token);
                    if (second) {
                        queue.offer(IGNORED);
                    }
                }
            };
        }

        @Override
        public void close() {}
    }

    /** A queue without bounds. */
    final class Transfer implements TokenWay, Hand {
        private final LinkedTransferQueue<Integer> queue = new LinkedTransferQueue<>();

        @Override
        public Hand hand() {
            return this;
        }

        @Override
        public int take() throws InterruptedException {
            return queue.take();
        }

        @Override
        public void put(int token, boolean second) {
            queue.add(token);
            if (second) {
                queue.add(IGNORED);
            }
        }

        @Override
        public void close() {}
    }

    /** A jobserver for two jobs, of ours or of the make that has started us: one token, which all clients of this process wait for. */
    final class Jobs implements TokenWay {
        private final JobServerHost host; // null: a make
        private final JobServer client;
        private final List<JobServer.Token> implicit = new ArrayList<>();
        private final JobServer.Token first; // until the game begins
        private volatile int value;

        Jobs(JobServerHost host, JobServer client) {
            this.host = host;
            this.client = client;
            if (!client.isConnected()) {
                throw new IllegalStateException(client.warning().orElse("no make has started this program"));
            }
            client.tryAcquire().ifPresent(implicit::add); // the process's own is out of the game
            first = client.tryAcquire().orElseThrow();
        }

        static Jobs ofOurHost() {
            try {
                JobServerHost host = JobServerHost.create(2);
                return new Jobs(host, JobServer.from(Map.of("MAKEFLAGS", host.makeFlags())));
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public Hand hand() {
            return new Hand() {
                private JobServer.Token held = first;

                @Override
                public int take() throws InterruptedException {
                    held = client.acquire();
                    return value;
                }

                @Override
                public void put(int token, boolean second) {
                    value = token;
                    held.close();
                }
            };
        }

        @Override
        public void close() {
            implicit.forEach(JobServer.Token::close);
            if (host == null) {
                return;
            }
            try {
                host.close();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
