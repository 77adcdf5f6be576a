#include "drain_helper.h"

#include "clock.h"
#include "raw.h"
#include "valgrind.h"

#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { STACK_BYTES = 64 << 10, THREAD_BYTES = 8 << 10, ERRNO_FARTHEST = 1 << 20, SIGNAL_SET_BYTES = 8 };

static char *thread_pointer(void)
{
    char *pointer;
#if defined(__x86_64__)
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
}

/* clone() as the kernel has it: libc's own is wrapped by us, and allocates. Returns the process's id, or -errno. */
static long begin_process(unsigned long flags, void *stack, _Atomic uint32_t *task, void *thread, void (*function)(void *), void *argument)
{
#if defined(__x86_64__)
    long result;
    register void *r10 __asm__("r10") = task;
    register void *r8 __asm__("r8") = thread;
    register void (*r12)(void *) __asm__("r12") = function;
    register void *r13 __asm__("r13") = argument;
    __asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\txor %%ebp, %%ebp\n\tmov %%r13, %%rdi\n\tcall *%%r12\n\tud2\n1:"
                     : "=a"(result)
                     : "a"(SYS_clone), "D"(flags), "S"(stack), "d"(task), "r"(r10), "r"(r8), "r"(r12), "r"(r13)
                     : "rcx", "r11", "memory", "cc");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = SYS_clone;
    register long x0 __asm__("x0") = (long)flags;
    register void *x1 __asm__("x1") = stack;
    register void *x2 __asm__("x2") = task;
    register void *x3 __asm__("x3") = thread;
    register void *x4 __asm__("x4") = task;
    register void (*x19)(void *) __asm__("x19") = function;
    register void *x20 __asm__("x20") = argument;
    __asm__ volatile("svc 0\n\tcbnz x0, 1f\n\tmov x29, xzr\n\tmov x0, x20\n\tblr x19\n\tbrk 0\n1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x19), "r"(x20)
                     : "memory", "cc");
    return x0;
#endif
}

/* In the process beside us. The kernel empties its table of descriptors: none of ours is held open by it, and none of its is seen by us. */
static void carry(void *argument)
{
    struct drain_helper *helper = argument;
    syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE);
    syscall(SYS_prctl, PR_SET_NAME, "slicewise", 0, 0, 0);
    helper->result = spool_carry_out(&helper->order);
    atomic_store(&helper->is_done, 1);
    for (;;)
        syscall(SYS_exit, 0);
}

struct drain_helper *drain_helper_begin(const struct segment *segment, const void *frames, size_t bytes, _Atomic uint32_t *task, int *wrong)
{
    *wrong = 0;
    ptrdiff_t errno_at = (char *)&errno - thread_pointer();
    size_t before = errno_at < 0 ? (size_t)-errno_at : 0, after = errno_at > 0 ? (size_t)errno_at : 0;
    if (before + after > ERRNO_FARTHEST || valgrind_is_here())
        return NULL;
    before = (before + sizeof(struct drain_helper) + THREAD_BYTES) & ~(size_t)63;
    size_t stack = (before + after + THREAD_BYTES + STACK_BYTES) & ~(size_t)63, mapped = stack + bytes;
    char *memory = (char *)syscall(SYS_mmap, NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct drain_helper *helper = (struct drain_helper *)memory;
    *wrong = spool_order(&helper->order, segment, memcpy(memory + stack, frames, bytes), bytes);
    if (*wrong < 0) {
        syscall(SYS_munmap, memory, mapped);
        return NULL;
    }
    helper->task = task;
    helper->mapped_bytes = mapped;
    helper->began_ns = clock_read(CLOCK_MONOTONIC);
    /* Zeroes, which is an errno of its own, and where processors want it a pointer to itself. */
    void *thread = memory + before;
    memcpy(thread, &thread, sizeof thread);
    const uint64_t all = UINT64_MAX;
    uint64_t signals;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &signals, SIGNAL_SET_BYTES);
    long pid = begin_process(DRAIN_HELPER_FLAGS, memory + stack, task, thread, carry, helper);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signals, NULL, SIGNAL_SET_BYTES);
    helper->pid = (int)pid;
    if (pid > 0)
        return helper;
    syscall(SYS_munmap, memory, mapped);
    return NULL;
}

bool drain_helper_wait(const _Atomic uint32_t *word, uint64_t until_ns)
{
    const struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_SECOND), .tv_nsec = (long)(until_ns % NS_PER_SECOND) };
    uint32_t task;
    bool is_late = false; /* the kernel says so, too: a filter of the program's may keep the time from us */
    while ((task = atomic_load(word)) != 0 && !is_late && clock_read(CLOCK_MONOTONIC) < until_ns)
        is_late = raw_result(syscall(SYS_futex, word, FUTEX_WAIT_BITSET, task, &until, NULL, FUTEX_BITSET_MATCH_ANY)) ==
                  -ETIMEDOUT; /* as the kernel wakes: not private */
    return task == 0;
}

int drain_helper_settle(struct drain_helper *helper, struct segment *segment)
{
    bool is_done = atomic_load(&helper->is_done) != 0;
    int result = is_done ? helper->result : -EINTR;
    helper->order.is_torn |= !is_done;
    spool_settle(segment, &helper->order);
    /* One that was killed may still close its file; nobody waits for that. */
    syscall(SYS_wait4, helper->pid, NULL, __WCLONE | (is_done ? 0 : WNOHANG), NULL);
    syscall(SYS_munmap, helper, helper->mapped_bytes);
    return result;
}

void drain_helper_abandon(struct drain_helper *helper)
{
    if (atomic_load(helper->task) != 0)
        syscall(SYS_kill, helper->pid, SIGKILL);
}

void drain_helper_forget(struct drain_helper *helper)
{
    syscall(SYS_munmap, helper, helper->mapped_bytes);
}
