/* errno as system calls of libc reach it: at its place from the thread's pointer. On x86-64 libc's `errno` asks the thread's block for its own
 * address first, and a process may have been begun with a block of zeroes (Chromium's sandbox does), which nothing but such a call survives. */
#ifndef SLICEWISE_OWN_ERRNO_H
#define SLICEWISE_OWN_ERRNO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From the thread's pointer to errno, the same in all threads; 0: not known yet. */
extern int64_t errno_offset __attribute__((visibility("hidden")));

#if defined(__x86_64__)
/* Whether the thread's block says where it is. */
static inline bool thread_is_set_up(void)
{
    uintptr_t self;
    __asm__("mov %%fs:16, %0" : "=r"(self));
    return self != 0;
}

static inline int errno_now(void)
{
    int now;
    if (__builtin_expect(errno_offset == 0, 0))
        return errno;
    __asm__ volatile("movl %%fs:(%1), %0" : "=r"(now) : "r"(errno_offset) : "memory");
    return now;
}

static inline void errno_put(int value)
{
    if (__builtin_expect(errno_offset == 0, 0))
        errno = value;
    else
        __asm__ volatile("movl %1, %%fs:(%0)" : : "r"(errno_offset), "r"(value) : "memory");
}

static inline void errno_find(void)
{
    if (errno_offset == 0 && thread_is_set_up())
        errno_offset = (intptr_t)&errno - (intptr_t)__builtin_thread_pointer();
}
#else
static inline bool thread_is_set_up(void)
{
    return *(void *const *)__builtin_thread_pointer() != NULL; /* where its blocks of variables are */
}

static inline int errno_now(void)
{
    return errno;
}

static inline void errno_put(int value)
{
    errno = value;
}

static inline void errno_find(void)
{
}
#endif

#endif
