/* Memory of which few pages will be touched. Where the program has all its new memory locked (mlockall), the kernel would fill it with pages at
 * once: then it is mapped without access first, unlocked, and opened. */
#ifndef SLICEWISE_SPARSE_H
#define SLICEWISE_SPARSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern _Atomic bool sparse_is_new_memory_locked;

/* As mmap of `bytes` to read and write: MAP_FAILED where there is no memory. */
static inline void *sparse_map(size_t bytes, int flags, int fd)
{
    bool is_locked = atomic_load_explicit(&sparse_is_new_memory_locked, memory_order_relaxed);
    void *memory = (void *)syscall(SYS_mmap, NULL, bytes, is_locked ? PROT_NONE : PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
    if (!is_locked || memory == MAP_FAILED)
        return memory;
    syscall(SYS_munlock, memory, bytes);
    if (syscall(SYS_mprotect, memory, bytes, PROT_READ | PROT_WRITE) == 0)
        return memory;
    syscall(SYS_munmap, memory, bytes);
    return MAP_FAILED;
}

/* Memory that is mapped when somebody first needs it: what `memory` points to, mapped now by one of those who ask if it is NULL. NULL where there
 * is none to be had. */
static inline void *sparse_once(void *_Atomic *memory, size_t bytes)
{
    void *there = atomic_load_explicit(memory, memory_order_acquire);
    if (__builtin_expect(there != NULL, 1))
        return there;
    void *mapped = sparse_map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (mapped == MAP_FAILED)
        return atomic_load_explicit(memory, memory_order_acquire);
    if (atomic_compare_exchange_strong(memory, &there, mapped))
        return mapped;
    syscall(SYS_munmap, mapped, bytes); /* another thread was first */
    return there;
}

#endif
