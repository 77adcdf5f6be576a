/* An allocator whose one lock knows no recursion, and which does I/O while it holds it, at its start and later: entered again by its own
 * thread, it says so and ends the program. Freed memory is never used again. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARENA_BYTES (256ull << 20)
#define CALLS_BETWEEN_LOOKS 50

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int holder;
static char *arena;
static size_t used, calls;

static void look_around(void)
{
    char text[64];
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY);
    if (fd < 0)
        return;
    if (read(fd, text, sizeof text) < 0)
        used += 0;
    close(fd);
}

static void start(void)
{
    char target[64];
    int saved = errno;
    if (readlink("/etc/malloc.conf", target, sizeof target) < 0) /* as jemalloc asks */
        errno = saved;
    arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    look_around();
}

static void *take(size_t bytes, size_t alignment)
{
    static const char again[] = "allocator: entered again by the thread that is in it\n";
    int me = (int)syscall(SYS_gettid);
    if (holder == me) {
        syscall(SYS_write, 2, again, sizeof again - 1);
        syscall(SYS_exit_group, 99);
    }
    pthread_mutex_lock(&lock);
    holder = me;
    if (arena == NULL)
        start();
    if (++calls % CALLS_BETWEEN_LOOKS == 0)
        look_around();
    used = (used + 16 + alignment - 1) / alignment * alignment;
    char *block = arena + used;
    used += bytes + 16;
    memcpy(block - 8, &bytes, sizeof bytes);
    holder = 0;
    pthread_mutex_unlock(&lock);
    return block;
}

void *malloc(size_t bytes)
{
    return take(bytes, 16);
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    return take(count * bytes, 16); /* fresh memory is zeros */
}

size_t malloc_usable_size(void *block)
{
    size_t bytes = 0;
    if (block != NULL)
        memcpy(&bytes, (char *)block - 8, sizeof bytes);
    return bytes;
}

void *realloc(void *block, size_t bytes)
{
    void *made = take(bytes, 16);
    size_t had = malloc_usable_size(block);
    if (block != NULL)
        memcpy(made, block, had < bytes ? had : bytes);
    return made;
}

void *memalign(size_t alignment, size_t bytes)
{
    return take(bytes, alignment < 16 ? 16 : alignment);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = memalign(alignment, bytes);
    return 0;
}
