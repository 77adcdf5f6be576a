/* Death at every moment: runs a function in a child, one machine instruction at a time, and shows what it has left in shared memory after
 * each that changed it. */
#ifndef SLICEWISE_TESTS_STEPPER_H
#define SLICEWISE_TESTS_STEPPER_H

#include <cstddef>
#include <functional>

/* Memory (MAP_SHARED) whose changes are moments of interest. */
struct Watched {
    const void *begin;
    size_t bytes;
};

/* The same at each system call that `run` makes, before it and after it: what writes to no shared memory changes nothing in between. */
int step_through_system_calls(const std::function<void()> &run, const std::function<void()> &at_moment);

/* Calls `at_moment` before the first instruction and after each that changed `watched`. Returns how often it was called, or -1 with a
 * warning if the system does not let one process trace another. */
int step_through(const Watched &watched, const std::function<void()> &run, const std::function<void()> &at_moment);

#endif
