#include "stack_walk.h"

#if defined(__x86_64__) && __has_include(<libunwind-ptrace.h>)
#include "clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum { STOP_NS = 200000000, NAP_NS = 100000, WINDOW_BYTES = 1024, NAMED_MAX = 200 };

/* libunwind's functions have the processor in their names, by macros. */
#define SYMBOL_(name) #name
#define SYMBOL(name) SYMBOL_(name)
/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): names, that no parentheses may be around */
#define FUNCTIONS(F) \
    F(create_addr_space, unw_create_addr_space) F(init_remote, unw_init_remote) F(step, unw_step) F(get_reg, unw_get_reg) \
    F(is_signal_frame, unw_is_signal_frame) F(create, _UPT_create) F(destroy, _UPT_destroy) F(find_proc_info, _UPT_find_proc_info) \
    F(put_unwind_info, _UPT_put_unwind_info) F(get_dyn_info, _UPT_get_dyn_info_list_addr)
#define FIELD(field, function) __typeof__(&function) field;
#define FIND(field, function) unwinder.field = (__typeof__(&function))find(&libraries, SYMBOL(function));
#define IS_THERE(field, function) && unwinder.field != NULL
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

struct libraries {
    void *general, *remote;
};

static struct {
    FUNCTIONS(FIELD)
    unw_addr_space_t space;
} unwinder;

/* The thread that is walked now. */
static struct {
    int pid;
    bool knows_all;
    struct user_regs_struct registers;
    uint64_t window_begin;
    size_t window_bytes;
    unsigned char window[WINDOW_BYTES];
} thread;

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int is_write, void *argument)
{
    (void)space, (void)argument;
    if (is_write)
        return -UNW_EINVAL;
    if (address < thread.window_begin || address - thread.window_begin + sizeof *value > thread.window_bytes) {
        for (size_t bytes = WINDOW_BYTES; bytes >= sizeof *value; bytes = bytes > 64 ? 64 : bytes > 8 ? 8 : 0) {
            struct iovec here = { thread.window, bytes }, there = { (void *)address, bytes }; /* NOLINT(performance-no-int-to-ptr) */
            ssize_t got = process_vm_readv(thread.pid, &here, 1, &there, 1, 0);
            thread.window_begin = address;
            thread.window_bytes = got > 0 ? (size_t)got : 0;
            if (thread.window_bytes >= sizeof *value)
                break;
        }
        if (thread.window_bytes < sizeof *value)
            return -UNW_EINVAL;
    }
    memcpy(value, thread.window + (address - thread.window_begin), sizeof *value);
    return 0;
}

static int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int is_write, void *argument)
{
    (void)space, (void)argument;
    const struct user_regs_struct *of = &thread.registers;
    const unsigned long long known[] = { of->rax, of->rdx, of->rcx, of->rbx, of->rsi, of->rdi, of->rbp, of->rsp, of->r8,
                                         of->r9,  of->r10, of->r11, of->r12, of->r13, of->r14, of->r15, of->rip };
    if (is_write || number < 0 || (size_t)number >= sizeof known / sizeof *known)
        return -UNW_EBADREG;
    if (!thread.knows_all && number != UNW_X86_64_RSP && number != UNW_X86_64_RIP)
        return -UNW_EBADREG;
    *value = known[number];
    return 0;
}

static int access_float(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int is_write, void *argument)
{
    (void)space, (void)number, (void)value, (void)is_write, (void)argument;
    return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument)
{
    (void)space, (void)cursor, (void)argument;
    return -UNW_EINVAL;
}

static int procedure_name(unw_addr_space_t space, unw_word_t address, char *name, size_t room, unw_word_t *offset, void *argument)
{
    (void)space, (void)address, (void)name, (void)room, (void)offset, (void)argument;
    return -UNW_ENOINFO;
}

static void *find(const struct libraries *libraries, const char *name)
{
    void *found = dlsym(libraries->general, name);
    return found != NULL ? found : dlsym(libraries->remote, name);
}

bool stack_walk_open(void)
{
    static unw_accessors_t accessors;
    if (unwinder.space != NULL)
        return true;
    struct libraries libraries = { dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_GLOBAL), dlopen("libunwind-ptrace.so.0", RTLD_NOW) };
    if (libraries.general == NULL || libraries.remote == NULL)
        return false;
    FUNCTIONS(FIND)
    if (!(true FUNCTIONS(IS_THERE)))
        return false;
    accessors = (unw_accessors_t){ .find_proc_info = unwinder.find_proc_info,
                                   .put_unwind_info = unwinder.put_unwind_info,
                                   .get_dyn_info_list_addr = unwinder.get_dyn_info,
                                   .access_mem = access_memory,
                                   .access_reg = access_register,
                                   .access_fpreg = access_float,
                                   .resume = resume,
                                   .get_proc_name = procedure_name };
    unwinder.space = unwinder.create_addr_space(&accessors, 0);
    return unwinder.space != NULL;
}

static void walk_frames(int tid, struct stack_walk *walk)
{
    unw_cursor_t cursor;
    void *about = unwinder.create(tid);
    if (about == NULL)
        return;
    int went = unwinder.init_remote(&cursor, unwinder.space, about) == 0 ? 1 : -1;
    bool is_exact = true;
    unw_word_t pc;
    while (went > 0 && walk->count < STACK_WALK_FRAMES && unwinder.get_reg(&cursor, UNW_REG_IP, &pc) == 0 && pc != 0) {
        walk->pc[walk->count++] = is_exact ? pc : pc - 1;
        is_exact = unwinder.is_signal_frame(&cursor) > 0;
        went = unwinder.step(&cursor);
    }
    walk->is_whole = went == 0;
    unwinder.destroy(about);
}

/* What the kernel tells of a thread that waits: "NUMBER six arguments SP PC", or "-1 SP PC"; or "running". Returns 1 where it runs. */
static int read_waiting(int pid, int tid, struct stack_walk *walk)
{
    char path[64], text[NAMED_MAX];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -errno;
    size_t got = fread(text, 1, sizeof text - 1, file);
    int wrong = ferror(file) != 0 ? -errno : 0;
    fclose(file);
    text[got] = '\0';
    unsigned long number[6];
    unsigned long long sp, pc;
    if (wrong != 0 || got == 0)
        return wrong != 0 ? wrong : -ESRCH;
    if (strncmp(text, "running", strlen("running")) == 0)
        return 1;
    if (sscanf(text, "-1 %llx %llx", &sp, &pc) == 2)
        walk->call = -1;
    else if (sscanf(text, "%ld %lx %lx %lx %lx %lx %lx %llx %llx", &walk->call, &number[0], &number[1], &number[2], &number[3], &number[4],
                    &number[5], &sp, &pc) != 9)
        return -ESRCH;
    thread.registers = (struct user_regs_struct){ .rsp = sp, .rip = pc };
    thread.knows_all = false;
    return 0;
}

static bool has_stopped(int tid, int *status)
{
    uint64_t until_ns = clock_read(CLOCK_MONOTONIC) + STOP_NS;
    do {
        if (waitpid(tid, status, WNOHANG | __WALL) == tid)
            return WIFSTOPPED(*status);
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    } while (clock_read(CLOCK_MONOTONIC) < until_ns);
    return false;
}

/* A signal that came first is given to the thread as it is let go, never swallowed. */
static int walk_stopped(int tid, struct stack_walk *walk)
{
    int status;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return -errno;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || !has_stopped(tid, &status))
        return -EBUSY; /* our own end lets it go */
    walk->was_stopped = true;
    thread.knows_all = true;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &thread.registers) == 0)
        walk_frames(tid, walk);
    int signal_that_came = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
    ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)signal_that_came); /* NOLINT(performance-no-int-to-ptr) */
    return 0;
}

int stack_walk(int pid, int tid, struct stack_walk *walk)
{
    *walk = (struct stack_walk){ .call = -1 };
    thread.pid = pid;
    thread.window_bytes = 0;
    int how = read_waiting(pid, tid, walk);
    if (how < 0)
        return how;
    if (how == 1)
        return walk_stopped(tid, walk);
    walk_frames(tid, walk);
    return 0;
}
#else
#include <errno.h>

bool stack_walk_open(void)
{
    return false;
}

int stack_walk(int pid, int tid, struct stack_walk *walk)
{
    (void)pid, (void)tid, (void)walk;
    return -ENOSYS;
}
#endif
