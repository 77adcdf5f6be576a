/* Stands where engine.c stands in the library, so that a test says when the engine starts and stops, and may do both often. */
#ifndef SLICEWISE_TESTS_FAKE_ENGINE_H
#define SLICEWISE_TESTS_FAKE_ENGINE_H

#include <stdint.h>

/* A process that begins to count: a segment in `dir`, which it drains to as well. Ticks are CLOCK_MONOTONIC nanoseconds. Aborts the
 * test program if it cannot be had. */
void fake_engine_start(const char *dir, uint64_t slice_ns);

/* Ends it without a word: nothing is closed, packed, drained or removed. */
void fake_engine_stop(void);

#endif
