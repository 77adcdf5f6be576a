/* What a program does to forbid itself system calls (seccomp), to have those of some code answered by itself (PR_SET_SYSCALL_USER_DISPATCH), or to
 * forbid itself the reading of the tick counter (PR_SET_TSC). Where we could not live after
 * it, we stand down before it. All other calls of prctl pass through: allocators make some while they hold their locks. */
#include "sandbox.h"

#include "computing.h"
#include "filter.h"
#include "interpose.h"
#include "memory_lock.h"
#include "waits.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

enum { SET_DISPATCH = 59, DISPATCH_OFF = 0 }; /* PR_SET_SYSCALL_USER_DISPATCH, which old headers lack */

static void stand_down_for_filter(void)
{
    engine_stand_down(PROBLEM_stood_down_seccomp);
    memory_lock_plainly();
}

/* Coordination is over, and so are samples of computing, for the filter may forbid what they need. */
static void before_filter(const struct sock_fprog *program)
{
    bool is_readable;
    waits_stop();
    if (computing_is_on())
        engine_count_problem(PROBLEM_computing_unsampled, 1);
    computing_stop();
    if (!filter_at_lets_us_go_on(program, &is_readable) && is_readable)
        stand_down_for_filter();
}

void sandbox_prepare_prctl(long option, long first, const void *second)
{
    if (option == PR_SET_SECCOMP && first == SECCOMP_MODE_STRICT)
        stand_down_for_filter();
    else if (option == PR_SET_SECCOMP && first == SECCOMP_MODE_FILTER)
        before_filter(second);
    else if (option == SET_DISPATCH && first != DISPATCH_OFF)
        engine_stand_down(PROBLEM_stood_down_dispatch);
    else if (option == PR_SET_TSC && first == PR_TSC_SIGSEGV)
        engine_stand_down(PROBLEM_stood_down_tsc);
}

void sandbox_prepare_seccomp(long operation, const void *arguments)
{
    if (operation == SECCOMP_SET_MODE_STRICT)
        stand_down_for_filter();
    else if (operation == SECCOMP_SET_MODE_FILTER)
        before_filter(arguments);
}

INTERPOSE(int, prctl, (int option, ...))
{
    va_list arguments;
    va_start(arguments, option);
    long first = va_arg(arguments, long), second = va_arg(arguments, long), third = va_arg(arguments, long), fourth = va_arg(arguments, long);
    va_end(arguments);
    if (option == PR_SET_SECCOMP || option == PR_SET_TSC || option == SET_DISPATCH) {
        struct call call = call_begin(OP_prctl);
        call_end(&call);
        call_lived(&call);
        sandbox_prepare_prctl(option, first, (const void *)second); // NOLINT(performance-no-int-to-ptr)
        call_close(&call);
    }
    return REAL(prctl)(option, first, second, third, fourth);
}
