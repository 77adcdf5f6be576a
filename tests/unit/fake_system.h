/* The system under the engine, as a test wants it: the linker leads the engine's vdso_clock and syscall here (--wrap). What a
 * test does not ask for goes to the real ones. For one thread at a time. */
#ifndef SLICEWISE_TESTS_FAKE_SYSTEM_H
#define SLICEWISE_TESTS_FAKE_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

struct fake_system {
    bool has_clock;              /* both clocks stand at the times below, and move on by `ns_a_reading` */
    uint64_t realtime_ns, monotonic_ns, ns_a_reading;
    const char *mountinfo;       /* file to be read for /proc/self/mountinfo */
    const char *self_maps;       /* file to be read for /proc/self/maps */
    const char *self_io;         /* file to be read for /proc/self/io, of a process that has waited for no child */
    const char *writable_below;  /* nothing is made or opened for writing elsewhere: EACCES */
    bool is_disk_full;           /* writev writes `disk_room` bytes more, and then none: ENOSPC */
    uint64_t disk_room;
    void (*amid_read)(void *argument); /* called once, in the middle of the next pread from `amid_read_at` on */
    void *amid_read_argument;
    uint64_t amid_read_at;
    long failing_syscall;        /* this one fails with `error` */
    int error;
    long counted_syscall;        /* this one was made so many times */
    uint64_t times;
};
extern struct fake_system fake_system;

/* Everything real again. */
void fake_system_reset(void);

#endif
