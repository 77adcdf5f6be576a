/* Libraries that a program opens so that they bind past what is preloaded: a process in which that happened is marked, for the calls of such
 * a library cannot be seen. The loader looks for a library from where its caller lies ($ORIGIN, RUNPATH) and knows the caller by the return
 * address: so the real function is jumped to, with nothing of ours on the stack. */
#include "interpose.h"
#include "io_library.h"
#include "module.h"

#include <dlfcn.h>

#ifndef __clang__
#pragma GCC optimize("O2") /* whatever the rest is compiled with: a call in the last place is a jump then */
#endif

__attribute__((noinline)) static void note(bool is_apart)
{
    int saved_errno = errno_now();
    struct call call = call_begin(OP_dlopen);
    call_end(&call);
    call_lived(&call);
    atomic_store(&module_is_opened, true);
    io_library_opened();
    if (is_apart)
        engine_count_problem(PROBLEM_bound_apart, 1);
    errno_put(saved_errno);
}

INTERPOSE(void *, dlopen, (const char *path, int mode))
{
    note(path != NULL && (mode & RTLD_DEEPBIND) != 0);
    return REAL(dlopen)(path, mode);
}

INTERPOSE(void *, dlmopen, (Lmid_t space, const char *path, int mode))
{
    note(space != LM_ID_BASE || (mode & RTLD_DEEPBIND) != 0);
    return REAL(dlmopen)(space, path, mode);
}
