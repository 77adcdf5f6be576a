#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* From here on memory comes from the kernel by itself, in huge pages where there are any: a fault for every 4 KiB of a large table takes
 * longer than filling it. */
#define LARGE_BYTES ((size_t)1 << 20)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* A huge page that would be half full at least is taken whole. */
static size_t kept_bytes(size_t bytes)
{
    size_t page = bytes % HUGE_PAGE_BYTES >= HUGE_PAGE_BYTES / 2 ? HUGE_PAGE_BYTES : (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

void *memory_zeroed(size_t bytes)
{
    if (bytes < LARGE_BYTES)
        return calloc(1, bytes + 1);
    if (bytes > SIZE_MAX / 2)
        return NULL;
    size_t kept = kept_bytes(bytes), room = kept + HUGE_PAGE_BYTES; /* so that it can be aligned, whatever place it gets */
    char *mapped = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    char *aligned = (char *)(((uintptr_t)mapped + HUGE_PAGE_BYTES - 1) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1));
    if (aligned > mapped)
        munmap(mapped, (size_t)(aligned - mapped));
    if (mapped + room > aligned + kept)
        munmap(aligned + kept, (size_t)(mapped + room - (aligned + kept)));
    madvise(aligned, kept, MADV_HUGEPAGE);
    return aligned;
}

void memory_free(void *memory, size_t bytes)
{
    if (bytes < LARGE_BYTES || memory == NULL)
        free(memory);
    else
        munmap(memory, kept_bytes(bytes));
}
