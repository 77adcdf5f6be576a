#include "filter.h"

#include "clock.h"
#include "drain_helper.h"
#include "raw.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef SECCOMP_RET_ACTION_FULL
#define SECCOMP_RET_ACTION_FULL 0xffff0000U
#endif
#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

/* More steps, or questions within questions, than any filter asks about one call. */
enum { STEPS_MAX = 200000, FORKS_MAX = 200, PROGRAM_MOST = 4096 };

/* One of our system calls. Arguments that differ from call to call are not given. Where we may be refused, an error costs detail and no
 * counts; any call may not be answered by a signal. */
struct own_call {
    int number;
    bool may_be_refused;
    unsigned given; /* bit i: argument[i] */
    uint64_t argument[6];
};
/* clang-format off */
#define ALWAYS(number) { (number), false, 0, { 0 } }
#define ALWAYS_3RD(number, third) { (number), false, 1u << 2, { [2] = (uint64_t)(third) } }
#define PERHAPS(number) { (number), true, 0, { 0 } }
#define PERHAPS_1ST(number, first) { (number), true, 1u << 0, { [0] = (uint64_t)(first) } }
#define PERHAPS_2ND(number, second) { (number), true, 1u << 1, { [1] = (uint64_t)(second) } }
#define PERHAPS_3RD(number, third) { (number), true, 1u << 2, { [2] = (uint64_t)(third) } }

static const struct own_call own_calls[] = {
    ALWAYS(SYS_getpid), ALWAYS(SYS_gettid), ALWAYS(SYS_rt_sigprocmask), ALWAYS(SYS_futex), ALWAYS(SYS_close), ALWAYS(SYS_statx),
    ALWAYS(SYS_read), ALWAYS(SYS_pread64), ALWAYS(SYS_writev), ALWAYS(SYS_readlinkat), ALWAYS(SYS_mkdirat), ALWAYS(SYS_unlinkat),
    ALWAYS(SYS_ftruncate), ALWAYS(SYS_munmap), ALWAYS(SYS_getcwd), ALWAYS(SYS_getdents64), ALWAYS(SYS_geteuid), ALWAYS(SYS_prlimit64),
    ALWAYS_3RD(SYS_madvise, MADV_POPULATE_WRITE), ALWAYS_3RD(SYS_madvise, MADV_DONTNEED), ALWAYS_3RD(SYS_madvise, MADV_WIPEONFORK),
    ALWAYS_3RD(SYS_openat, O_RDONLY | O_CLOEXEC), ALWAYS_3RD(SYS_openat, O_PATH | O_DIRECTORY | O_CLOEXEC),
    ALWAYS_3RD(SYS_openat, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
    ALWAYS_3RD(SYS_openat, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
    ALWAYS_3RD(SYS_openat, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CREAT | O_EXCL | O_CLOEXEC),
    ALWAYS_3RD(SYS_openat, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC),
    { SYS_mmap, false, 1u << 2 | 1u << 3, { [2] = PROT_READ | PROT_WRITE, [3] = MAP_SHARED | MAP_NORESERVE } },
    { SYS_mmap, false, 1u << 2 | 1u << 3, { [2] = PROT_READ | PROT_WRITE, [3] = MAP_PRIVATE | MAP_ANONYMOUS } },
    { SYS_fcntl, false, 1u << 1, { [1] = F_GETFL } },
    PERHAPS(SYS_tgkill), PERHAPS(SYS_kill), PERHAPS(SYS_waitid), PERHAPS(SYS_fallocate), PERHAPS(SYS_flock), PERHAPS(SYS_nanosleep),
    PERHAPS(SYS_sched_yield), PERHAPS(SYS_process_vm_readv), PERHAPS(SYS_sigaltstack), PERHAPS(SYS_getrusage), PERHAPS(SYS_fchmod),
    PERHAPS(SYS_fchmodat), PERHAPS(SYS_newfstatat), PERHAPS(SYS_rt_sigpending), PERHAPS(SYS_rt_sigtimedwait), PERHAPS(SYS_sendto),
    PERHAPS(SYS_ppoll), PERHAPS(SYS_clock_gettime), PERHAPS(SYS_fgetxattr), PERHAPS(SYS_pwrite64), PERHAPS(SYS_openat2), PERHAPS(SYS_fstat),
    PERHAPS(SYS_getppid), PERHAPS(SYS_faccessat), PERHAPS(SYS_renameat2), PERHAPS(SYS_lseek), PERHAPS(SYS_uname), PERHAPS(SYS_getuid), PERHAPS(SYS_getgid),
    PERHAPS(SYS_fstatfs), PERHAPS(SYS_munlock), PERHAPS(SYS_mprotect), PERHAPS(SYS_mlock2), PERHAPS_2ND(SYS_ioctl, TCGETS),
    PERHAPS_2ND(SYS_ioctl, PERF_EVENT_IOC_ID),
    PERHAPS_3RD(SYS_openat, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), PERHAPS_3RD(SYS_openat, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
    PERHAPS_3RD(SYS_openat, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
    PERHAPS_3RD(SYS_openat, O_RDONLY | O_DIRECTORY | O_CLOEXEC), PERHAPS_3RD(SYS_openat, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
    { SYS_mmap, true, 1u << 2 | 1u << 3, { [2] = PROT_READ | PROT_WRITE, [3] = MAP_SHARED } },
    /* The drain helper, which would never end if its exit were refused. */
    PERHAPS_1ST(SYS_clone, DRAIN_HELPER_FLAGS), PERHAPS_3RD(SYS_close_range, CLOSE_RANGE_UNSHARE), PERHAPS_1ST(SYS_prctl, PR_SET_NAME),
    PERHAPS_1ST(SYS_prctl, PR_GET_SECCOMP), PERHAPS_1ST(SYS_prctl, PR_GET_NO_NEW_PRIVS), PERHAPS(SYS_wait4), ALWAYS(SYS_exit),
};
/* clang-format on */

/* A word that the filter computes with, as far as it is known. */
struct word {
    uint32_t value;
    bool is_known;
};
static const struct word unknown;

struct machine {
    struct word a, x, memory[BPF_MEMWORDS];
};

struct run {
    const struct sock_filter *program;
    unsigned length, steps, forks;
    const struct own_call *call;
};

static struct word known(uint32_t value)
{
    return (struct word){ value, true };
}

static struct word data_at(const struct own_call *call, uint32_t offset)
{
    if (offset == offsetof(struct seccomp_data, nr))
        return known((uint32_t)call->number);
    if (offset == offsetof(struct seccomp_data, arch))
        return known(OUR_ARCH);
    if (offset < offsetof(struct seccomp_data, args) || offset >= sizeof(struct seccomp_data))
        return unknown; /* where in our code it is */
    unsigned place = (offset - (uint32_t)offsetof(struct seccomp_data, args)) / 8;
    if ((call->given >> place & 1) == 0)
        return unknown;
    return known((uint32_t)(call->argument[place] >> (offset % 8 * 8)));
}

static struct word compute(uint16_t code, struct word a, struct word b)
{
    if (!a.is_known || (BPF_OP(code) != BPF_NEG && !b.is_known))
        return unknown;
    switch (BPF_OP(code)) {
    case BPF_ADD: return known(a.value + b.value);
    case BPF_SUB: return known(a.value - b.value);
    case BPF_MUL: return known(a.value * b.value);
    case BPF_DIV: return b.value != 0 ? known(a.value / b.value) : known(0);
    case BPF_MOD: return b.value != 0 ? known(a.value % b.value) : known(0);
    case BPF_OR: return known(a.value | b.value);
    case BPF_AND: return known(a.value & b.value);
    case BPF_XOR: return known(a.value ^ b.value);
    case BPF_LSH: return known(b.value < 32 ? a.value << b.value : 0);
    case BPF_RSH: return known(b.value < 32 ? a.value >> b.value : 0);
    case BPF_NEG: return known(-a.value);
    default: return unknown;
    }
}

static bool is_taken(uint16_t code, uint32_t a, uint32_t b)
{
    switch (BPF_OP(code)) {
    case BPF_JEQ: return a == b;
    case BPF_JGT: return a > b;
    case BPF_JGE: return a >= b;
    default: return (a & b) != 0; /* BPF_JSET */
    }
}

static bool is_answer_good(const struct own_call *call, struct word answer)
{
    if (!answer.is_known)
        return false;
    uint32_t action = answer.value & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG || (action == SECCOMP_RET_ERRNO && call->may_be_refused);
}

/* The filter from instruction `at` on: whether every way that the call may go ends well. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as FORKS_MAX
static bool runs_well(struct run *run, unsigned at, struct machine machine)
{
    while (at < run->length && run->steps++ < STEPS_MAX) {
        const struct sock_filter *step = &run->program[at++];
        struct word operand = BPF_SRC(step->code) == BPF_X ? machine.x : known(step->k);
        switch (BPF_CLASS(step->code)) {
        case BPF_LD:
        case BPF_LDX: {
            struct word loaded = BPF_MODE(step->code) == BPF_IMM                             ? known(step->k)
                                 : BPF_MODE(step->code) == BPF_MEM && step->k < BPF_MEMWORDS ? machine.memory[step->k]
                                 : BPF_MODE(step->code) == BPF_LEN                           ? known(sizeof(struct seccomp_data))
                                 : BPF_MODE(step->code) == BPF_ABS                           ? data_at(run->call, step->k)
                                                                                             : unknown;
            *(BPF_CLASS(step->code) == BPF_LD ? &machine.a : &machine.x) = loaded;
            break;
        }
        case BPF_ST:
        case BPF_STX:
            if (step->k < BPF_MEMWORDS)
                machine.memory[step->k] = BPF_CLASS(step->code) == BPF_ST ? machine.a : machine.x;
            break;
        case BPF_ALU: machine.a = compute(step->code, machine.a, operand); break;
        case BPF_MISC:
            *(BPF_MISCOP(step->code) == BPF_TAX ? &machine.x : &machine.a) = BPF_MISCOP(step->code) == BPF_TAX ? machine.a : machine.x;
            break;
        case BPF_RET: return is_answer_good(run->call, BPF_RVAL(step->code) == BPF_A ? machine.a : known(step->k));
        default: /* BPF_JMP */
            if (BPF_OP(step->code) == BPF_JA) {
                at += step->k;
            } else if (machine.a.is_known && operand.is_known) {
                at += is_taken(step->code, machine.a.value, operand.value) ? step->jt : step->jf;
            } else {
                if (run->forks == FORKS_MAX)
                    return false;
                run->forks++;
                bool is_good = runs_well(run, at + step->jt, machine);
                run->forks--;
                if (!is_good)
                    return false;
                at += step->jf;
            }
        }
    }
    return false;
}

bool filter_lets_us_go_on(const struct sock_filter *program, unsigned length)
{
    for (size_t i = 0; i < sizeof own_calls / sizeof *own_calls; i++) {
        struct run run = { .program = program, .length = length, .call = &own_calls[i] };
        if (!runs_well(&run, 0, (struct machine){ 0 }))
            return false;
    }
    return true;
}

static bool read_memory(const void *from, void *to, size_t bytes)
{
    struct iovec here = { to, bytes }, there = { (void *)from, bytes };
    long got = raw_result(syscall(SYS_process_vm_readv, raw_getpid(), &here, 1, &there, 1, 0));
    if (got < 0 && got != -EFAULT) { /* refused: by another filter, as a rule. The kernel is about to read it as well. */
        memcpy(to, from, bytes);
        return true;
    }
    return got == (long)bytes;
}

bool filter_at_lets_us_go_on(const struct sock_fprog *program, bool *is_readable)
{
    struct sock_fprog copy;
    const size_t most = PROGRAM_MOST * sizeof(struct sock_filter);
    *is_readable = false;
    if (program == NULL || !read_memory(program, &copy, sizeof copy) || copy.len == 0 || copy.len > PROGRAM_MOST)
        return false;
    struct sock_filter *steps = (void *)syscall(SYS_mmap, NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (steps == MAP_FAILED)
        return false;
    *is_readable = read_memory(copy.filter, steps, copy.len * sizeof *steps);
    bool goes_on = *is_readable && filter_lets_us_go_on(steps, copy.len);
    syscall(SYS_munmap, steps, most);
    return goes_on;
}
