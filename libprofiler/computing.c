#include "computing.h"

#include "async_drain.h"
#include "guard.h"
#include "hardware.h"
#include "peek.h"
#include "site.h"
#include "state.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>

enum { SIGNAL = 32, TIMERS_MAX = 4096 };
/* What a sample needs below the frame that it interrupts, nearly all of it to pack frames. */
enum { ROOM_PAGES = 8 };
/* Since when the kernel sends signals of such timers on the way back to the program: version << 8 | patch level. */
#if defined(__x86_64__)
enum { LINUX_LEAST = 5 << 8 | 9 };
#else
enum { LINUX_LEAST = 6 << 8 | 1 };
#endif
/* The kernel makes the first thread's stack as it grows. If it may grow so large, this much of it is certain to be there. */
enum { STACK_KNOWN_BYTES = 8 << 20, STACK_SPARE_BYTES = 128 << 10 };

/* As the kernel has it. */
struct action {
    void (*handler)(int signal, siginfo_t *info, void *context);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static struct {
    struct action before; /* glibc's own, if it has one */
    uintptr_t stack_begin, stack_end; /* of the first thread's stack */
    _Atomic int32_t timer[TIMERS_MAX]; /* 1 + the kernel's id; 0: free */
} computing;
START_DATA bool computing_samples;

#if defined(__x86_64__)
#define FLAGS_OF_PROCESSOR 0x04000000 /* SA_RESTORER */
void computing_return(void) HIDDEN;
__asm__(".pushsection .text\n\t.p2align 4\n\t.hidden computing_return\n\t.globl computing_return\n\t.type computing_return, @function\n"
        "computing_return:\n\tmov $15, %rax\n\tsyscall\n\t.size computing_return, .-computing_return\n\t.popsection");
#else
#define FLAGS_OF_PROCESSOR 0
#define computing_return NULL /* the kernel has one */
#endif

static void take_registers(struct unwind_state *state, const ucontext_t *context)
{
#if defined(__x86_64__)
    static const unsigned char in_order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
    for (unsigned i = 0; i < sizeof in_order; i++)
        state->value[i] = (uint64_t)context->uc_mcontext.gregs[in_order[i]];
    state->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    memcpy(state->value, context->uc_mcontext.regs, sizeof context->uc_mcontext.regs);
    state->value[UNWIND_STACK_POINTER] = context->uc_mcontext.sp;
    state->pc = context->uc_mcontext.pc;
#endif
}

/* Whether there is stack enough below us, of which we may be at the end. */
static bool has_room(const unsigned char *here)
{
    unsigned char seen[ROOM_PAGES];
    struct iovec there[ROOM_PAGES], to = { seen, sizeof seen };
    for (unsigned i = 0; i < ROOM_PAGES; i++)
        there[i] = (struct iovec){ (void *)(here - (i + 1) * (uintptr_t)PEEK_PAGE_BYTES), 1 };
    return (uintptr_t)here - computing.stack_begin < computing.stack_end - computing.stack_begin ||
           raw_result(syscall(SYS_process_vm_readv, raw_getpid(), &to, 1, there, ROOM_PAGES, 0)) == ROOM_PAGES;
}

/* Neither waits for the lock, for the program may hold what its holder waits for (an allocator, by PAPI): the next sample then stands for this one, too. */
static void sample(struct thread *thread, const ucontext_t *context, uint64_t samples)
{
    static struct unwind_state state; /* guarded by the lock */
    struct held_lock held;
    void *volatile frame;
    thread->missed += samples;
    if (!guard_begin(thread, &frame))
        return;
    bool is_taken = lock_try(&engine.lock, &held);
    if (is_taken) {
        if (atomic_load(engine_switch) == ENGINE_ON) {
            take_registers(&state, context);
            site_computes(&state, thread->missed, entry_is_body);
        }
        thread->missed = 0;
        lock_release(held);
    }
    guard_end(thread);
    if (is_taken && async_drain_is_due() && !hardware_is_on())
        async_drain_turn();
}

static void on_timer(int signal, siginfo_t *info, void *context)
{
    struct thread *thread = &thread_state;
    unsigned char here;
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != (void *)&computing) {
        if ((uintptr_t)computing.before.handler > (uintptr_t)SIG_IGN)
            computing.before.handler(signal, info, context);
        return;
    }
    uint64_t more = (uint64_t)info->si_overrun;
    if (more * engine.settings.site_ns > NS_PER_SECOND) /* it was blocked, by a system call past libc: where that time went is not known */
        more = 0;
    int saved_errno = errno_now();
    if (atomic_load(engine_switch) == ENGINE_ON && !thread->is_waiting && atomic_load(&vfork_children) == 0 && has_room(&here))
        sample(thread, context, 1 + more);
    errno_put(saved_errno);
}

/* glibc puts its own handler there when a thread is first cancelled. */
static bool stand_in_front(void)
{
    struct action now, ours = { on_timer, SA_SIGINFO | SA_RESTART | FLAGS_OF_PROCESSOR, computing_return, ~0ull };
    if (syscall(SYS_rt_sigaction, SIGNAL, NULL, &now, ALL_SIGNALS_BYTES) != 0)
        return false;
    if (now.handler == on_timer)
        return true;
    computing.before = now;
    return syscall(SYS_rt_sigaction, SIGNAL, &ours, NULL, ALL_SIGNALS_BYTES) == 0;
}

/* The first sample is at some part of the interval, by the thread: those of threads that begin together are not to come together. */
static bool begin(struct thread *thread, uint32_t id)
{
    uint64_t each_ns = engine.settings.site_ns, first_ns = 1 + id * 0x9e3779b97f4a7c15ull % each_ns;
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL, .sigev_value.sival_ptr = &computing };
    event._sigev_un._tid = (int)id;
    clockid_t clock = (clockid_t)(~id << 3 | 6); /* the processor time of the thread of this number */
    const struct itimerspec when = { .it_interval = { (time_t)(each_ns / NS_PER_SECOND), (long)(each_ns % NS_PER_SECOND) },
                                     .it_value = { (time_t)(first_ns / NS_PER_SECOND), (long)(first_ns % NS_PER_SECOND) } };
    uint32_t place = 0;
    for (int32_t free = 0; !atomic_compare_exchange_strong(&computing.timer[place], &free, INT32_MAX); free = 0)
        if (++place == TIMERS_MAX)
            return false;
    int32_t timer;
    if (syscall(SYS_timer_create, clock, &event, &timer) != 0) {
        atomic_store(&computing.timer[place], 0);
        return false;
    }
    atomic_store(&computing.timer[place], 1 + timer);
    thread->timer = 1 + place;
    return syscall(SYS_timer_settime, timer, 0, &when, NULL) == 0;
}

static void end(uint32_t place)
{
    int32_t timer = atomic_exchange(&computing.timer[place], 0);
    if (timer != 0 && timer != INT32_MAX)
        syscall(SYS_timer_delete, timer - 1);
}

static bool is_deferring(void)
{
    struct utsname system;
    char *point;
    if (syscall(SYS_uname, &system) != 0)
        return false;
    long version = strtol(system.release, &point, 10), level = *point == '.' ? strtol(point + 1, NULL, 10) : 0;
    return (version << 8 | level) >= LINUX_LEAST;
}

void computing_start(void)
{
    struct rlimit limit;
    if (engine.settings.is_computing == 0 || engine.settings.site_ns == 0)
        return;
    if (syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0) { /* a filter in force may end whoever makes a timer */
        notice_problem(PROBLEM_computing_unsampled, NULL);
        return;
    }
    if (raw_result(syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit)) == 0 && limit.rlim_cur / 2 > STACK_SPARE_BYTES) {
        computing.stack_end = (uintptr_t)environ;
        computing.stack_begin = computing.stack_end - (limit.rlim_cur < STACK_KNOWN_BYTES ? limit.rlim_cur : STACK_KNOWN_BYTES) + STACK_SPARE_BYTES;
    }
    computing_samples = is_deferring() && stand_in_front();
    struct thread *first = lazy_start_pid() == (uint32_t)raw_gettid() ? &thread_state : &(struct thread){ 0 };
    if (!computing_samples || !begin(first, lazy_start_pid()))
        notice_problem(PROBLEM_computing_unsampled, NULL);
}

void computing_thread_begins(void)
{
    struct thread *thread = &thread_state;
    if (engine.has_thread_key) { /* its end is noticed, also if it counts nothing */
        thread->is_registered = 1;
        pthread_setspecific(engine.thread_key, thread);
    }
    if (!engine.has_thread_key || !stand_in_front() || !begin(thread, (uint32_t)raw_gettid()))
        __atomic_fetch_add(&engine.home.segment->problems[PROBLEM_computing_unsampled], 1, __ATOMIC_RELAXED);
}

void computing_thread_ends(struct thread *thread)
{
    if (thread->timer != 0)
        end(thread->timer - 1);
    thread->timer = 0;
}

void computing_stop(void)
{
    for (uint32_t place = 0; computing_samples && place < TIMERS_MAX; place++)
        end(place);
    computing_samples = false;
}

void computing_forget(void)
{
    if (computing_samples)
        memset((void *)computing.timer, 0, sizeof computing.timer);
    computing_samples = false;
}
