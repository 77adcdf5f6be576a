/* Files in memory: how much of them is mapped, and the time in msync. What is read and written by touching pages passes by every wrapper: the
 * kernel's count of storage has it. Memory that is no file's passes through at once. */
#include "interpose.h"
#include "io_uring.h"
#include "mapping.h"

#include <stdarg.h>
#include <sys/mman.h>

/* An allocator maps memory before, or while, the real function is looked up, and looking up may allocate. */
static void *map_memory(void *address, size_t size, int protection, int flags, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, size, protection, flags, -1, offset);
}

INTERPOSE(void *, mmap, (void *address, size_t size, int protection, int flags, int fd, off_t offset))
{
    if ((flags & MAP_ANONYMOUS) != 0)
        return real_mmap != NULL ? real_mmap(address, size, protection, flags, fd, offset)
                                 : map_memory(address, size, protection, flags, offset);
    struct call call = call_begin(OP_mmap);
    void *mapped = REAL(mmap)(address, size, protection, flags, fd, offset);
    call_end(&call);
    if (mapped != MAP_FAILED) {
        mapping_enter(mapped, call_inherited(fd));
        uring_mapped(fd, offset, mapped);
    }
    call_mapped(&call, fd, mapped != MAP_FAILED ? (int64_t)size : -1);
    call_close(&call);
    return mapped;
}
SAME_AS(mmap64, mmap); /* off_t is 64 bits wherever we build */

/* What is mapped moves with its name; of nothing (`size` 0) it stays, and is mapped twice. */
INTERPOSE(void *, mremap, (void *address, size_t size, size_t wanted, int flags, ...))
{
    va_list arguments;
    va_start(arguments, flags);
    void *place = (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0 ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    descriptor word = mapping_leave(address);
    if (word == 0)
        return real_mremap != NULL ? real_mremap(address, size, wanted, flags, place)
                                   : (void *)syscall(SYS_mremap, address, size, wanted, flags, place);
    struct call call = call_begin(OP_mremap);
    void *moved = REAL(mremap)(address, size, wanted, flags, place);
    call_end(&call);
    if (moved == MAP_FAILED || size == 0)
        mapping_enter(address, word);
    if (moved != MAP_FAILED)
        mapping_enter(moved, word);
    call_touched_descriptor(&call, word, moved == MAP_FAILED);
    call_close(&call);
    return moved;
}

INTERPOSE(int, munmap, (void *address, size_t size))
{
    descriptor word = mapping_leave(address);
    if (word == 0) /* memory, or part of a file's mapping */
        return real_munmap != NULL ? real_munmap(address, size) : (int)syscall(SYS_munmap, address, size);
    uring_unmaps(address);
    struct call call = call_begin(OP_munmap);
    int failed = REAL(munmap)(address, size);
    call_end(&call);
    call_touched_descriptor(&call, word, failed != 0);
    call_close(&call);
    return failed;
}

COUNTED(msync, int, msync, (void *address, size_t size, int flags), (address, size, flags), touched_descriptor, mapping_word(address), result != 0)
