/* The engine's headers are C; where a test in C++ includes them, this stands for C's own <stdatomic.h>. Layouts are the same (test_segment
 * holds C++'s idea of the segment against the engine's). */
#ifndef SLICEWISE_TESTS_STDATOMIC_H
#define SLICEWISE_TESTS_STDATOMIC_H

#define _Atomic
#define atomic_load(from) __atomic_load_n(from, __ATOMIC_SEQ_CST)
#define atomic_load_explicit(from, order) __atomic_load_n(from, __ATOMIC_SEQ_CST)
#define atomic_store(to, value) __atomic_store_n(to, value, __ATOMIC_SEQ_CST)
#define atomic_store_explicit(to, value, order) __atomic_store_n(to, value, __ATOMIC_SEQ_CST)
#define atomic_exchange_explicit(to, value, order) __atomic_exchange_n(to, value, __ATOMIC_SEQ_CST)
#define atomic_compare_exchange_strong_explicit(at, expected, value, order, failed) \
    __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#endif
