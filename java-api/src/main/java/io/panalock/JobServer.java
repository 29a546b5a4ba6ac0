// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * The client's side of GNU make's jobserver: a program that {@code make -jN} starts asks here before it does several things
 * at once, so that all of them together keep to N.
 *
 * {@snippet :
 * JobServer jobs = JobServer.fromEnvironment();
 * for (Unit unit : units) {
 *     JobServer.Token token = jobs.acquire();
 *     executor.execute(() -> {
 *         try (token) {
 *             compile(unit);
 *         }
 *     });
 * }
 * }
 *
 * <p>Every process owns one token without asking, its <em>implicit</em> one, which {@link #acquire()} gives out first. Each
 * further one is a byte read from make's pipe, and closing the token writes the same byte back. Where there is no
 * jobserver, or it cannot be reached, the implicit token is the only one: work goes on one by one.
 *
 * <p>Who holds a token works, and never waits for another one meanwhile: make may hold all others for programs that do the
 * same, and then everybody waits for ever. Take one for each job, in the thread that starts it, and let the job close it; what
 * a job would like to have beside, it asks for with {@link #tryAcquire()}.
 *
 * <p>Tokens go back when they are closed, and when the JVM exits, though not when it is killed. A descriptor that is shared
 * with make and its other children is never set to non-blocking mode: the pipe is opened anew for this process. Waiting
 * threads, virtual ones too, wait in Java for one daemon thread that waits for the pipe.
 *
 * <p>Source: the GNU make manual, "Sharing Job Slots with GNU make".
 */
public abstract sealed class JobServer permits MakeClient {
    JobServer() {}

    /** A right to run one job. Closing it twice has no effect. */
    public sealed interface Token extends AutoCloseable permits MakeClient.Held {
        /** {@return whether this is the process's own token, which costs nothing} */
        boolean isImplicit();

        /** Gives the token back. Does not block. */
        @Override
        void close();
    }

    /**
     * {@return the jobserver that the environment variable {@code MAKEFLAGS} names; the same object at every call}
     *
     * @throws IllegalCallerException if native access is denied to this module
     */
    public static JobServer fromEnvironment() {
        return MakeClient.ENVIRONMENT.get();
    }

    /**
     * {@return the jobserver that a value of {@code MAKEFLAGS} names} Each call makes an object with an implicit token of
     * its own, so a process calls this once.
     *
     * @param environment holds {@code MAKEFLAGS}, or does not
     */
    public static JobServer from(Map<String, String> environment) {
        return MakeClient.connect(environment);
    }

    /**
     * Takes a token, waiting as long as it takes; not while the job that calls this holds one.
     *
     * @return the token, to be closed
     * @throws InterruptedException if the thread is interrupted; no token is lost by it
     */
    public abstract Token acquire() throws InterruptedException;

    /** {@return a token, or nothing if there is none at once} */
    public abstract Optional<Token> tryAcquire();

    /**
     * {@return a token, or nothing if there is none within {@code limit}}
     *
     * @param limit nothing or less: does not wait
     * @throws InterruptedException if the thread is interrupted
     */
    public abstract Optional<Token> tryAcquire(Duration limit) throws InterruptedException;

    /** {@return whether make's pipe can be used; if not, only the implicit token is there} */
    public abstract boolean isConnected();

    /**
     * {@return why there is no connection though {@code MAKEFLAGS} names a jobserver} Most often the recipe line lacks the
     * {@code +} that lets make pass its descriptors on.
     */
    public abstract Optional<String> warning();

    /** {@return whether make only prints what it would do ({@code make -n})} */
    public abstract boolean isDryRun();
}
