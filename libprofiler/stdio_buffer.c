#include "stdio_buffer.h"

#include "symbol.h"

extern char __libc_single_threaded __attribute__((weak));

enum { NAME_ROOM = 24 };

static const char is_never;
const char *is_single_threaded_at = &is_never, *is_lone_at = &is_never;
void *lone_functions[LONES];
const char *line_end;

static int (*real_try_lock)(FILE *);
static void (*real_lock)(FILE *), (*real_unlock)(FILE *);
static void (*cleanup_push)(struct _pthread_cleanup_buffer *, void (*)(void *), void *);
static void (*cleanup_pop)(struct _pthread_cleanup_buffer *, int);

__attribute__((constructor)) static void find_single_threaded(void)
{
    if (&__libc_single_threaded != NULL)
        is_single_threaded_at = &__libc_single_threaded;
}

/* By the functions of the libc that the streams are of, whatever a program gives these names. */
static void find_locks(void)
{
    if (LIKELY(real_try_lock != NULL && real_unlock != NULL))
        return;
    real_try_lock = (int (*)(FILE *))engine_real("ftrylockfile");
    real_lock = (void (*)(FILE *))engine_real("flockfile");
    real_unlock = (void (*)(FILE *))engine_real("funlockfile");
    cleanup_push = (__typeof__(cleanup_push))engine_real("_pthread_cleanup_push");
    cleanup_pop = (__typeof__(cleanup_pop))engine_real("_pthread_cleanup_pop");
}

static bool try_lock(FILE *stream)
{
    find_locks();
    return real_try_lock(stream) == 0;
}

/* Whether libc's own call would lock it, and others may hold it. */
static bool is_shared(const FILE *stream)
{
    return !is_alone() && stream->_fileno >= 0 && (stream->_flags & STREAM_IS_CALLERS) == 0;
}

void stream_take(struct turn *turn, FILE *stream)
{
    turn->stream = NULL;
    if (!is_shared(stream))
        return;
    find_locks();
    if (real_lock == NULL || cleanup_push == NULL || cleanup_pop == NULL) /* or another thread finds them at this moment */
        return;
    turn->stream = stream;
    real_lock(stream);
    cleanup_push(&turn->let_go, (void (*)(void *))real_unlock, stream);
}

void stream_give(struct turn *turn)
{
    if (turn->stream != NULL)
        cleanup_pop(&turn->let_go, true);
}

static void find_lone_functions(void)
{
    static const char names[LONES][2][NAME_ROOM] = {
#define LONE_FUNCTION(name, unlocked) { #name, #unlocked },
        LONE_FUNCTIONS(LONE_FUNCTION)
#undef LONE_FUNCTION
    };
    for (unsigned i = 0; i < LONES; i++) {
        void *real = engine_real(names[i][0]), *unlocked = symbol_of_libc(names[i][0], real, names[i][1]);
        lone_functions[i] = unlocked != NULL ? unlocked : real;
    }
    __atomic_store_n(&is_lone_at, is_single_threaded_at, __ATOMIC_RELEASE);
}

bool is_alone_and_ready(void)
{
    if (!is_alone())
        return false;
    if (is_lone_at != is_single_threaded_at)
        find_lone_functions();
    return true;
}

/* The stream to ourselves, if it is an ordinary one of bytes. */
static enum serving seize(FILE *stream)
{
    bool is_ours = is_alone_and_ready();
    if (stream->_mode > 0)
        return NOT_SERVED;
    if (stream->_fileno < 0)
        return SERVED_UNCOUNTED;
    if (is_ours || (stream->_flags & STREAM_IS_CALLERS) != 0)
        return SERVED;
    return try_lock(stream) ? SERVED_LOCKED : NOT_SERVED;
}

static enum serving served_if(bool is_served, FILE *stream, enum serving serving)
{
    if (is_served || serving == SERVED_UNCOUNTED)
        return serving;
    if (serving == SERVED_LOCKED)
        real_unlock(stream);
    return NOT_SERVED;
}

enum serving stream_holds(FILE *stream, size_t bytes)
{
    enum serving serving = seize(stream);
    return served_if(serving != NOT_SERVED && is_readable(stream, bytes), stream, serving);
}

intptr_t served_unusually(intptr_t returned, enum operation operation, enum call_kind kind, int fd, uint64_t bytes)
{
    call_served_unusually(operation, kind, fd, bytes);
    return returned;
}

intptr_t served_late(uint64_t tick, intptr_t returned, enum operation operation, enum call_kind kind, int fd, uint64_t bytes)
{
    call_served_late(tick, operation, kind, fd, bytes);
    return returned;
}

struct stream_state state_before(const FILE *stream, const struct read_look *look, int64_t pending)
{
    struct stream_state before = { .readable = look->end - look->begin + look->lies_by,
                                   .filled = look->lies_by > 0 ? look->filled_with : look->end - look->base,
                                   .pending = pending };
    return stream->_mode <= 0 ? before : unusual_stream_state(before, stream);
}

static bool has_line(const FILE *stream, int delimiter)
{
    const char *begin = stream->_IO_read_ptr, *end = stream->_IO_read_end;
    const char *found = begin < end ? memrchr(begin, delimiter, (size_t)(end - begin)) : NULL;
    if (found != NULL)
        __atomic_store_n(&line_end, found, __ATOMIC_RELAXED);
    return found != NULL;
}

void look_for_line(const FILE *stream, int delimiter)
{
    if (is_alone() && stream->_mode <= 0)
        has_line(stream, delimiter);
}

/* Whether a line lies in the buffer: up to `delimiter`, or `most` bytes (none: no) of it. */
static bool is_line_held(const FILE *stream, int delimiter, ptrdiff_t most)
{
    ptrdiff_t held = stream->_IO_read_end - stream->_IO_read_ptr;
    return most > 0 && held > 0 && (most <= held || is_line_known(stream, delimiter) || has_line(stream, delimiter));
}

enum serving stream_holds_line(FILE *stream, int delimiter, ptrdiff_t most)
{
    enum serving serving = seize(stream);
    return served_if(serving != NOT_SERVED && is_line_held(stream, delimiter, most), stream, serving);
}

enum serving stream_has_room(FILE *stream, size_t bytes)
{
    enum serving serving = seize(stream);
    return served_if(serving != NOT_SERVED && is_writable(stream, bytes), stream, serving);
}

void stream_served(enum operation operation, enum call_kind kind, FILE *stream, enum serving serving, uint64_t bytes)
{
    int fd = stream->_fileno;
    if (serving == SERVED_LOCKED)
        real_unlock(stream);
    if (serving != SERVED_UNCOUNTED)
        call_served(operation, kind, fd, bytes);
}
