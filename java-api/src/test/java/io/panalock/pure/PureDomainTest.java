// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.panalock.internal.Layouts;
import io.panalock.internal.Parking;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("pure")
class PureDomainTest {
    private static final int SLOTS = 5;
    private static final int LOCKS = 40;

    private Arena arena;
    private PureDomain domain;

    @BeforeEach
    void create() {
        arena = Arena.ofShared();
        domain = PureDomain.create(arena, SLOTS, LOCKS, 0, Waker.NONE);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    void optionsOutOfRangeAreRefused() {
        assertThat(PureDomain.size(1, 0)).isZero();
        assertThat(PureDomain.size(Layouts.MAX_SLOTS + 1, 0)).isZero();
        assertThat(PureDomain.size(0, Layouts.MAX_POOL + 1)).isZero();
        assertThat(PureDomain.size(0, -1)).isZero();
        assertThat(PureDomain.size(Layouts.MAX_SLOTS, Layouts.MAX_POOL)).isPositive();
        assertThat(PureDomain.size(0, 0)).isLessThanOrEqualTo(512 << 10);
        assertThatIllegalArgumentException().isThrownBy(() -> PureDomain.create(arena, 1, 0, 0, Waker.NONE));
    }

    @Test
    void damagedHeadersAreRefused() {
        Memory m = domain.memory;
        long base = domain.address();
        long size = domain.format().size();
        assertThat(DomainFormat.validate(m, base, size)).isZero();
        assertThat(DomainFormat.validate(m, base, size - 1)).isEqualTo(-Layouts.EBADMSG);
        for (long field = 0; field <= Shape.DOMAIN_POOL_LOCKS; field += Integer.BYTES) {
            int was = m.get(base + field);
            for (int damage : new int[] {1 << 12, 1 << 20, 1 << 31}) {
                m.set(base + field, was ^ damage);
                int expected = field == Shape.DOMAIN_LAYOUT_VERSION ? -Layouts.EPROTO : -Layouts.EBADMSG;
                assertThat(DomainFormat.validate(m, base, size)).as("field at %d", field).isEqualTo(expected);
            }
            m.set(base + field, was);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PureDomain.open(m, base, 100, Waker.NONE, new Parking(SLOTS), 0));
    }

    @Test
    void openingAgainMakesAnEntryOfItsOwn() {
        PureDomain again = PureDomain.open(
                domain.memory, domain.address(), domain.format().size(), Waker.NONE, new Parking(SLOTS), 0);
        assertThat(again.process()).isNotEqualTo(domain.process());
        PureDomain same = PureDomain.open(
                domain.memory,
                domain.address(),
                domain.format().size(),
                Waker.NONE,
                new Parking(SLOTS),
                domain.processAt(domain.process()) + Shape.PROCESS_DOORBELL);
        assertThat(same.process()).isEqualTo(domain.process());
    }

    @Test
    void slotsRunOutAndAreUsedAgain() {
        for (int i = 1; i < SLOTS; i++) {
            assertThat(Slots.register(domain, 0)).isBetween(1, SLOTS - 1);
        }
        assertThat(Slots.register(domain, 0)).isEqualTo(-Layouts.ENOSPC);
        assertThat(Slots.release(domain, 3)).isZero();
        assertThat(Slots.release(domain, 3)).isEqualTo(-Layouts.EINVAL);
        assertThat(Slots.register(domain, 0)).isEqualTo(3);
        assertThat(Slots.release(domain, 0)).isEqualTo(-Layouts.EINVAL);
        assertThat(Slots.release(domain, SLOTS)).isEqualTo(-Layouts.EINVAL);
        domain.memory.set(domain.slotAt(2) + Shape.THREAD_DEPTH, 1);
        assertThat(Slots.release(domain, 2)).isEqualTo(-Layouts.EBUSY);
    }

    @Test
    void slotsOfTheDeadAreUsedWhenNoOtherIsLeft() {
        for (int i = 1; i < SLOTS; i++) {
            Slots.register(domain, 0);
        }
        domain.memory.set(domain.slotAt(2) + Shape.THREAD_TID, Integer.MAX_VALUE); // no such thread
        domain.memory.setLong(domain.slotAt(2) + Shape.THREAD_HELD, 4712);
        assertThat(Slots.register(domain, 0)).isEqualTo(2);
        assertThat(domain.memory.getLong(domain.slotAt(2) + Shape.THREAD_HELD)).isZero();
        domain.memory.setLong(domain.slotAt(4) + Shape.THREAD_INCARNATION, 1); // an earlier process of that number
        assertThat(Slots.register(domain, 0)).isEqualTo(4);
        assertThat(Slots.register(domain, 0)).isEqualTo(-Layouts.ENOSPC);
    }

    @Test
    void namesAreCutBetweenCharacters() {
        int slot = Slots.register(domain, 0);
        Slots.name(domain, slot, "worker-1");
        assertThat(Slots.name(domain, slot)).isEqualTo("worker-1");
        Slots.name(domain, slot, "x" + "ä".repeat(40));
        assertThat(Slots.name(domain, slot)).isEqualTo("x" + "ä".repeat(15));
        assertThat(Slots.name(domain, 0)).isEqualTo("domain");
    }

    @Test
    void poolWordsRunOutAndAreUsedAgain() {
        long[] words = new long[LOCKS];
        for (int i = 0; i < LOCKS; i++) {
            words[i] = Pool.take(domain);
            assertThat(words[i] % Layouts.CACHE_LINE).isZero();
        }
        assertThat(words).doesNotHaveDuplicates();
        assertThat(Pool.take(domain)).isEqualTo(-Layouts.ENOSPC);
        assertThat(Pool.give(domain, words[33] + 4)).isEqualTo(-Layouts.EINVAL);
        assertThat(Pool.give(domain, words[0] - Layouts.CACHE_LINE)).isEqualTo(-Layouts.EINVAL);
        LockWord lock = LockWord.at(domain.memory, words[33], Layouts.LAYOUT_WORD);
        assertThat(QSpin.tryLock(lock)).isTrue();
        assertThat(Pool.give(domain, words[33])).isEqualTo(-Layouts.EBUSY);
        QSpin.unlock(domain, lock, 0);
        assertThat(Pool.give(domain, words[33])).isZero();
        assertThat(Pool.give(domain, words[33])).isEqualTo(-Layouts.EINVAL);
        assertThat(Pool.take(domain)).isEqualTo(words[33]);
    }

    @Test
    void closedMeansClosed() {
        Pool.poison(domain);
        Pool.poison(domain);
        assertThat(Pool.take(domain)).isEqualTo(-Layouts.ESHUTDOWN);
        assertThat(Slots.register(domain, 0)).isEqualTo(-Layouts.ESHUTDOWN);
    }

    @Test
    void keysTellInsideFromOutside() {
        assertThat(domain.key(domain.address() + 64)).isEqualTo(64);
        assertThat(domain.key(0x10000)).isEqualTo(Shape.KEY_LOCAL | 0x10000);
    }
}
