/* mlockall: the program locks its memory, and not ours (memory_lock.h). */
#include "mlockall.h"

#include "interpose.h"
#include "memory_lock.h"

int mlockall_counted(int flags)
{
    struct call call = call_begin(OP_mlockall);
    int before = errno_now();
    long result = memory_lock_all(flags);
    errno_put(result < 0 ? (int)-result : before);
    call_end(&call);
    call_lived(&call);
    call_close(&call);
    return result < 0 ? -1 : 0;
}

INTERPOSE(int, mlockall, (int flags))
{
    return mlockall_counted(flags);
}
