/* I/O where stacks are odd: each scenario waits in read() for a timer, so that its call is sampled, and goes on as if nothing were odd. Every
 * argument names one. */
#include "scenario.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

__attribute__((noinline)) static void wait_in_read(void)
{
    struct itimerspec soon = { .it_value = { .tv_nsec = 20000000 } };
    struct timespec began, ended;
    uint64_t times = 0;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    REQUIRE(fd >= 0);
    do { /* once more if we were off the processor when the time ran out: then nothing was waited for in read() */
        REQUIRE(timerfd_settime(fd, 0, &soon, NULL) == 0);
        clock_gettime(CLOCK_MONOTONIC, &began);
        REQUIRE(read(fd, &times, sizeof times) == sizeof times && times == 1);
        clock_gettime(CLOCK_MONOTONIC, &ended);
    } while ((ended.tv_sec - began.tv_sec) * 1000000000 + ended.tv_nsec - began.tv_nsec < 15000000);
    close(fd);
}

static void in_handler(int signal)
{
    (void)signal;
    wait_in_read();
}

__attribute__((noinline)) static void be_interrupted(void)
{
    static char room[64 << 10];
    stack_t other = { .ss_sp = room, .ss_size = sizeof room };
    struct sigaction action = { .sa_handler = in_handler, .sa_flags = SA_ONSTACK };
    REQUIRE(sigaltstack(&other, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
    __asm__ volatile("" ::: "memory");
}

/* Interrupted at the very first byte of a function: the byte before it is another function's. */
#if defined(__x86_64__)
__attribute__((noinline, naked)) static void trap_at_once(void)
{
    __asm__("ud2\n\tret");
}

static void step_over(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    wait_in_read();
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void trap(void)
{
    struct sigaction action = { .sa_sigaction = step_over, .sa_flags = SA_SIGINFO };
    REQUIRE(sigaction(SIGILL, &action, NULL) == 0);
    trap_at_once();
}
#else
static void trap(void)
{
    wait_in_read();
}
#endif

__attribute__((noinline)) static void go_deep(int depth)
{
    char volatile here = (char)depth;
    if (depth == 0)
        wait_in_read();
    else
        go_deep(depth - 1);
    (void)here;
}

/* What lies above this function's frame, its own return address included, is not a stack while it reads: words of the one kind and of the
 * other by turns. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void with_a_corrupt_stack(uint64_t even, uint64_t odd, uint64_t step)
{
    enum { WORDS = 24 };
    uint64_t kept[WORDS];
    uint64_t volatile *frame = __builtin_frame_address(0);
    for (int i = 0; i < WORDS; i++)
        kept[i] = frame[i];
    for (int i = 0; i < WORDS; i++)
        frame[i] = (i % 2 == 0 ? even : odd) + (uint64_t)i * step;
    wait_in_read();
    for (int i = 0; i < WORDS; i++)
        frame[i] = kept[i];
}

static void corrupt(void)
{
    char volatile room[1024]; /* it is this function's frame that is spoilt */
    room[0] = room[1023] = 0;
    /* Code of a function whose frame is found by the frame pointer, which is the word before it. */
    uint64_t stack = (uint64_t)(uintptr_t)&room, code = (uint64_t)(uintptr_t)wait_in_read, framed = (uint64_t)(uintptr_t)with_a_corrupt_stack + 24;
    with_a_corrupt_stack(0, 0, 0);
    with_a_corrupt_stack(UINT64_MAX, UINT64_MAX, 0);
    with_a_corrupt_stack(stack, stack, 0);
    with_a_corrupt_stack(stack, stack, 8);
    with_a_corrupt_stack(code, code, 1);
    with_a_corrupt_stack(0x4141414141414140, framed, 0);
    with_a_corrupt_stack(4096, framed, 0);
    with_a_corrupt_stack(stack & ~15ull, framed, 0);
}

/* Code that no file and no unwind table knows, with and without a frame pointer. */
static void jit(void)
{
#if defined(__x86_64__)
    static const unsigned char with_frame[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 }; /* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
    static const unsigned char without[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3 }; /* sub rsp, 8; call rdi; add rsp, 8; ret */
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED);
    memcpy(code, with_frame, sizeof with_frame);
    memcpy(code + 64, without, sizeof without);
    void (*call_it)(void (*)(void)), (*call_it_without)(void (*)(void));
    *(void **)&call_it = code;
    *(void **)&call_it_without = code + 64;
    call_it(wait_in_read);
    call_it_without(wait_in_read);
    munmap(code, 4096);
#else
    wait_in_read();
#endif
}

static volatile int is_over;

static void *keep_reading(void *unused)
{
    while (!is_over)
        wait_in_read();
    return unused;
}

/* Children of fork while other threads are being sampled: each is sampled by itself. */
static void fork_beside_threads(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], NULL, keep_reading, NULL) == 0);
    for (int volatile i = 0; i < 21; i++) { /* volatile: the first time must be the same code as all others */
        int status = 0;
        pid_t child = i > 0 ? fork() : 0;
        if (child == 0) { /* the first time it is ourselves: the children are sampled where their parent was */
            wait_in_read();
            if (i == 0)
                continue;
            _exit(7);
        }
        REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    is_over = 1;
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static void *read_once(void *unused)
{
    wait_in_read();
    return unused;
}

/* Threads one after the other, whose counters are handed on, and a first call of ours that began before anything was counted. */
static void threads_in_a_row(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, read_once, NULL) == 0);
        if (i == 0)
            wait_in_read();
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } scenarios[] = {
        { "signal", be_interrupted }, { "corrupt", corrupt }, { "jit", jit }, { "fork", fork_beside_threads }, { "trap", trap },
        { "row", threads_in_a_row },
    };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "deep") == 0)
            go_deep(20000);
        for (size_t n = 0; n < sizeof scenarios / sizeof *scenarios; n++)
            if (strcmp(argv[i], scenarios[n].name) == 0)
                scenarios[n].run();
    }
    return 0;
}
