/* A program that locks all its memory would lock ours: mappings of tens of megabytes, of which few pages are ever touched, filled by the kernel at
 * once and held against the program's limit. So everything is locked as it is touched, what is not ours is locked for good, and what is ours is
 * unlocked. The kernel has no call for "all but these": the program's mappings are taken from /proc/self/maps. */
#include "memory_lock.h"

#include "descriptor.h"
#include "raw.h"
#include "sparse.h"
#include "state.h"

enum { SPANS_MAX = 2 };
struct span {
    uintptr_t begin, end;
};

/* Ours that are large and sparse, in no order. Returns how many. */
static unsigned own_spans(struct span *spans)
{
    unsigned count = 0;
    uintptr_t far = (uintptr_t)atomic_load(&descriptor_far), segment = (uintptr_t)engine.home.segment;
    if (segment != 0)
        spans[count++] = (struct span){ segment, segment + sizeof(struct segment) };
    if (far != 0)
        spans[count++] = (struct span){ far, far + descriptor_far_bytes() };
    return count;
}

/* The part of `whole` before the first of our own mappings in it; `whole` becomes what follows that. */
static struct span take_others(struct span *whole, const struct span *own, unsigned count)
{
    struct span part = *whole;
    whole->begin = whole->end;
    for (unsigned i = 0; i < count; i++)
        if (own[i].begin < part.end && own[i].end > part.begin) {
            part.end = own[i].begin > part.begin ? own[i].begin : part.begin;
            whole->begin = own[i].end < whole->end ? own[i].end : whole->end;
        }
    return part;
}

enum { ADD_UP = -1 };

/* Adds up the bytes of the program's mappings, or locks them, as mlock2 is told: as in mlockall, what cannot be filled is left as it is. Returns
 * -errno if the mappings cannot be read. */
static int64_t visit_others(const struct span *own, unsigned count, int how)
{
    char text[4096];
    int64_t bytes = 0;
    long got;
    struct span span = { 0 };
    uintptr_t number = 0;
    enum { BEGIN, END, REST } at = BEGIN;
    int fd = raw_open("/proc/self/maps", O_RDONLY, 0);
    if (fd < 0)
        return fd;
    while ((got = raw_read(fd, text, sizeof text)) > 0)
        for (long i = 0; i < got; i++) {
            char c = text[i];
            if (c == '\n') {
                at = BEGIN;
                number = 0;
            } else if (at == BEGIN && c == '-') {
                span.begin = number;
                at = END;
                number = 0;
            } else if (at == END && c == ' ') {
                span.end = number;
                at = REST;
                while (span.begin < span.end) {
                    struct span part = take_others(&span, own, count);
                    bytes += (int64_t)(part.end - part.begin);
                    if (how != ADD_UP && part.begin < part.end)
                        syscall(SYS_mlock2, part.begin, part.end - part.begin, how);
                }
            } else if (at != REST) {
                number = number << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
            }
        }
    raw_close(fd);
    return got < 0 ? got : bytes;
}

static long lock_all(long flags)
{
    return raw_result(syscall(SYS_mlockall, flags));
}

static long lock_future(long flags)
{
    return (flags & MCL_FUTURE) != 0 ? lock_all(flags & ~(long)MCL_CURRENT) : 0;
}

/* Ours and the program's `bytes` pass the limit together: the program's are locked mapping by mapping if they alone do not. */
static long lock_within_limit(long flags, const struct span *own, unsigned count, int64_t bytes)
{
    struct rlimit limit;
    if (raw_result(syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit)) < 0 || (rlim_t)bytes > limit.rlim_cur)
        return -ENOMEM;
    long result = lock_future(flags);
    if (result == 0)
        visit_others(own, count, (flags & MCL_ONFAULT) != 0 ? MLOCK_ONFAULT : 0);
    return result;
}

static long lock_present(long flags)
{
    struct span own[SPANS_MAX];
    unsigned count = own_spans(own);
    if (count == 0)
        return lock_all(flags);
    int64_t bytes = visit_others(own, count, ADD_UP);
    if (bytes < 0)
        return lock_all(flags);
    long result = lock_all(flags | MCL_ONFAULT);
    if (result == -EINVAL) /* Linux before 4.4 */
        return lock_all(flags);
    if (result == -ENOMEM)
        return lock_within_limit(flags, own, count, bytes);
    if (result < 0)
        return result;
    if ((flags & MCL_ONFAULT) == 0)
        visit_others(own, count, 0);
    for (unsigned i = 0; i < count; i++)
        syscall(SYS_munlock, own[i].begin, own[i].end - own[i].begin);
    return lock_future(flags);
}

static _Atomic bool is_plain;

void memory_lock_plainly(void)
{
    atomic_store(&is_plain, true);
}

long memory_lock_all(long flags)
{
    if (atomic_load_explicit(&is_plain, memory_order_relaxed))
        return lock_all(flags);
    long result = (flags & MCL_CURRENT) != 0 ? lock_present(flags) : lock_all(flags);
    if (result == 0)
        atomic_store(&sparse_is_new_memory_locked, (flags & MCL_FUTURE) != 0);
    return result;
}
