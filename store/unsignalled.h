/* Writes of our own that send the program no signal, whatever the kernel would send for them: SIGPIPE where nobody reads any more, SIGXFSZ
 * beyond its size limit, SIGTTOU from the background. They are blocked for the write, and one that it caused is taken back; one that was
 * under way already is left. Nothing else is blocked: a write may take long. */
#ifndef SLICEWISE_UNSIGNALLED_H
#define SLICEWISE_UNSIGNALLED_H

#include "raw.h"
#include "signals.h"

#include <time.h>

#define SIGNALS_OF_WRITES (SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ) | SIGNAL_BIT(SIGTTOU))

static inline uint64_t signals_pending(void)
{
    uint64_t pending = 0;
    syscall(SYS_rt_sigpending, &pending, ALL_SIGNALS_BYTES);
    return pending & SIGNALS_OF_WRITES;
}

/* What to give back after a write: the mask, and the signals that were pending before. */
struct unsignalled {
    uint64_t mask, before;
};

static inline struct unsignalled unsignalled_begin(void)
{
    const uint64_t blocked = SIGNALS_OF_WRITES;
    struct unsignalled writing = { 0 };
    syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &blocked, &writing.mask, ALL_SIGNALS_BYTES);
    writing.before = signals_pending();
    return writing;
}

static inline void unsignalled_end(const struct unsignalled *writing, bool has_failed)
{
    const struct timespec at_once = { 0 };
    if (has_failed) {
        uint64_t ours = signals_pending() & ~writing->before;
        while (ours != 0 && raw_result(syscall(SYS_rt_sigtimedwait, &ours, NULL, &at_once, ALL_SIGNALS_BYTES)) > 0)
            ours = signals_pending() & ~writing->before;
    }
    syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &writing->mask, NULL, ALL_SIGNALS_BYTES);
}

static inline long unsignalled_writev(int fd, const struct iovec *parts, int count)
{
    struct unsignalled writing = unsignalled_begin();
    long written = raw_writev(fd, parts, count);
    unsignalled_end(&writing, written < 0);
    return written;
}

#endif
