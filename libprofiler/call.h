/* One call: it begins, ends, and is counted. `call_begin`, the real function, `call_end`, one of the `call_...` that
 * say what it did, `call_close`. Everything here is for any thread at any time, signal handlers included; nothing blocks but a
 * slice's turn, nothing allocates from libc, prints to stdout or fails, and errno is as the real function left it. */
#ifndef SLICEWISE_CALL_H
#define SLICEWISE_CALL_H

#include "clock.h"
#include "names.h"
#include "raw.h"
#include "segment.h"

#include <errno.h>
#include <stdio.h>
#include <sys/uio.h>
#include <wchar.h>

struct call {
    enum operation operation;
    int saved_errno;
    uint64_t start_tick, end_tick;
};

/* What schema/operations.def says of each operation: its enum layer and its enum call_kind. */
extern const unsigned char operation_layer[OPERATIONS], operation_kind[OPERATIONS];

/* Whether calls are counted, and the thread may be told so now. Starts the engine. */
bool call_is_on(void);

/* What a descriptor leads to: mount, file, kind of object and the table entry's generation in one word; 0: not known yet. */
typedef uint64_t descriptor;

#define NO_OFFSET (-1) /* the call moves on from the descriptor's own position */

/* Where a call's frame is, and where it returns to. `at`: NULL where there is none. */
struct call_frame {
    const void *at, *returns;
};

/* A thread that has not counted yet has zeroes here, also where a program made its thread-local storage of zeroes by itself. */
struct thread {
    struct lane *lane;            /* NULL: none yet */
    uint64_t begin_tick, end_tick; /* calls from the one on and before the other are in the lane's open slice; without a lane none is */
    uint32_t lane_index;
    void *frame;            /* of the bookkeeping under way: a signal handler must not touch the lane (guard.h); NULL: none */
    uint32_t library_depth; /* calls of libaio and liburing under way: the system call that one makes by number is that call */
    void *mpi_frame;        /* of the outermost MPI call under way, and where it returns to: one that lands in another counts once */
    void *mpi_return;
    void *mpi_open;         /* the frame of the call that communication_open told of; NULL: none */
    uint32_t mpi_class;     /* that call's class */
    uint64_t mpi_own_since; /* its time is counted up to this tick */
    uint64_t mpi_file_ns;   /* lane_file_ns at that tick */
    uint64_t mpi_ns;        /* in calls of MPI so far */
    struct call_frame library_call[IO_LIBRARIES]; /* of each I/O library the outermost call under way, likewise */
    int is_registered;      /* its end will be noticed */
    int is_aside;           /* a signal handler on a lane of its own: no thread more */
    uint32_t holds_lock;    /* the engine's: only the handler of a signal that the thread's own instruction caused can see this */
    uint32_t keeps_signals; /* they are blocked until the bookkeeping is done, and `kept_signals` is the mask to give back then */
    uint64_t kept_signals;
    uint32_t vfork_depth;   /* children that run as this thread (vfork_child.h), and `frame` as it was before the first */
    void *frame_before_vfork;
    struct environment_room *vfork_rooms; /* what they mapped for their execs (environment.c) */
    int32_t served_left, served_given; /* calls of buffers that still may, and might, be counted without the clock; only with a lane */
    uint64_t served_tick;   /* when one last was counted with it */
    uint64_t turn_tick;     /* until then the lane's slice is open, also where the lane ends earlier, for a sample of a call site is due */
    int64_t site_left_ns;   /* I/O time until that sample */
    uint64_t site_base_ns;  /* what of the lane's I/O time has been taken off that */
    uint64_t site_rest_ns, site_random;
    uint64_t site_joined;   /* stretches that the next sample stands for beside its own */
    uint64_t site_debt_ns;  /* what stacks cost beyond what their samples pay */
    uint64_t closed_file_ns; /* in calls on files, in slices that are closed (lane_file_ns) */
    uint32_t region;         /* 1 + place of the innermost region; 0: none (regions.h) */
    bool is_waiting;         /* for another thread or an accelerator, which is timed (threads/, accelerators/) */
    bool is_at_accelerator;  /* of these the latter */
    uint32_t timer;          /* 1 + its place among the timers of computing.c; 0: none */
    uint64_t missed;         /* samples of computing that the next one stands for, too */
    uint64_t waited_ticks;  /* of the call that is counted next, spent waiting for its turn (waits.h) */
};
extern __thread struct thread thread_state HIDDEN;

enum { ENGINE_UNSTARTED = 0, ENGINE_ON = 1, ENGINE_OFF = 2 };
/* ENGINE_ON where calls are counted. On a page of its own that a child of fork finds zeroed, however it was forked. */
extern _Atomic uint32_t *engine_switch HIDDEN;

static inline struct call call_begin(enum operation operation)
{
    return (struct call){ .operation = operation, .start_tick = tick_now() };
}

static inline void call_end(struct call *call)
{
    call->end_tick = tick_now();
    call->saved_errno = errno_now();
}

static inline void call_close(const struct call *call)
{
    errno_put(call->saved_errno);
}

/* The same without errno, for the functions below that leave it alone. */
static inline void call_stop(struct call *call)
{
    call->end_tick = tick_now();
}

/* Reads, writes and seeks: fast_path.h. */

/* What the thread has fetched from storage so far (bytes), before a copy of `size`: for call_copied. Leaves errno alone. */
#define FETCHED_UNKNOWN UINT64_MAX
uint64_t call_fetched(size_t size);

/* It read from the one and wrote to the other. */
void call_copied(const struct call *call, int from, int64_t from_offset, int to, int64_t to_offset, int64_t moved, uint64_t fetched_before);

/* A metadata or sync call on a descriptor, or on a name (relative to `dirfd`, as in the *at calls). */
void call_touched(const struct call *call, int fd, bool is_error);

/* After call_wrote: the call asked that what it wrote be in storage when it returned. Leaves errno alone. */
#define CALL_SYNCS (RWF_DSYNC | RWF_SYNC)
void call_synced(int fd, int64_t moved);

/* The descriptor's flags were set to others. */
void call_set_flags(int fd);

void call_named(const struct call *call, int dirfd, const char *path, bool is_error);
/* One that told the device it found. */
void call_named_on(const struct call *call, int dirfd, const char *path, uint64_t device, uint32_t mode);

/* A descriptor came to be by opening a name, or not (-1). Counts the call. */
void call_opened(const struct call *call, int fd, int dirfd, const char *path);
/* `fd` is about to be closed: what it leads to, for the call after the fact. */
descriptor descriptor_release(int fd);
void descriptor_release_range(unsigned first, unsigned last);
void descriptor_copied(int from, int to);
void call_touched_descriptor(const struct call *call, descriptor descriptor, bool is_error);

/* stdio, on a stream: bytes the program moved (BY_STATE: as many as it took out of the buffer), and, from the stream's state before and
 * after, those that passed to or from the kernel underneath. */
#define BY_STATE INT64_MAX
struct stream_state {
    int64_t readable, filled, pending, kernel_position;
};
/* How glibc's wide streams begin: the characters beside the bytes that they come from and go to. */
struct _IO_wide_data {
    wchar_t *read_ptr, *read_end, *read_base, *write_base, *write_ptr, *write_end, *buf_base, *buf_end, *save_base, *backup_base, *save_end;
};

/* glibc's flag of a stream that reads from what was pushed back (ungetc) first. What its buffer holds lies by meanwhile. */
#define STREAM_IN_BACKUP 0x100
/* One that is open for writing alone. */
#define STREAM_UNREADABLE 0x4
/* One that writes at the file's end alone: where that is, libc does not know. */
#define STREAM_APPENDS 0x1000

struct stream_state unusual_stream_state(struct stream_state state, const FILE *stream);

/* glibc's streams: what lies read ahead, how much its buffer was filled with, what lies written but not handed on, and where the kernel's position is.
 * The buffer's own begin counts, for ungetc and wide characters move that of what may be read. */
static inline struct stream_state stream_state(const FILE *stream)
{
    struct stream_state state = {
        .readable = stream->_IO_read_end - stream->_IO_read_ptr,
        .filled = stream->_IO_read_end - stream->_IO_buf_base,
        .pending = stream->_IO_write_ptr > stream->_IO_write_base ? stream->_IO_write_ptr - stream->_IO_write_base : 0,
        .kernel_position = stream->_offset,
    };
    bool is_usual = stream->_mode <= 0 && (stream->_flags & STREAM_IN_BACKUP) == 0;
    return __builtin_expect(is_usual, 1) ? state : unusual_stream_state(state, stream);
}

/* The stream whose kernel position a wrapper has noted. Whatever else may move it makes this NULL: calls on streams that do not only look into
 * the buffer, and children, who share the position. */
extern const FILE *call_noted_stream HIDDEN;

void call_stream_read(const struct call *call, FILE *stream, struct stream_state before, int64_t moved);
/* Read in items of a size. Before a call on large items the kernel is asked for its position where libc does not know it: a part of one may be what
 * the file has left. */
enum { LEAST_LARGE_ITEM = 4096 };
struct stream_state call_state_before_items(const FILE *stream, size_t size);
void call_stream_read_items(const struct call *call, FILE *stream, struct stream_state before, size_t size, size_t items, size_t asked);
void call_stream_wrote(const struct call *call, FILE *stream, struct stream_state before, int64_t moved);
void call_stream_touched(const struct call *call, FILE *stream, struct stream_state before, bool is_error);
/* A seek, which may fill the buffer anew. */
void call_stream_sought(const struct call *call, FILE *stream, struct stream_state before, int whence, bool is_error);
void call_streams_flushed(const struct call *call, int64_t pending);
/* One whose arguments give it nothing to do: libc does not look at the stream, which need not be there. */
void call_idled(enum operation operation);
/* One that closes what a stream led to, and opens `path` for it (the same anew: NULL). `fd`: -1, it failed. */
void call_stream_reopened(const struct call *call, int fd, struct stream_state before, const char *path);
/* The process ends, and libc then hands on what the stream holds: `more` bytes than characters. */
void call_stream_left(const FILE *stream, uint64_t more);
void call_stream_closed(const struct call *call, descriptor descriptor, struct stream_state before, bool is_error);

/* MPI-IO: `mount` is what engine_mount_of_path found when the file was opened. */
void call_mpi_moved(const struct call *call, uint32_t mount, int64_t moved);
void call_mpi_touched(const struct call *call, uint32_t mount, bool is_error);

/* A request that another call submitted is complete: `call` is as long as it took, `word` is what `fd` led to when it was submitted.
 * `is_in_kernel_count`: the kernel's count of the process's bytes has them. */
void call_request_done(const struct call *call, int fd, descriptor word, int64_t offset, int64_t moved, bool is_in_kernel_count);
/* What a descriptor leads to now; 0 where nothing is counted. */
descriptor call_descriptor(int fd);
/* The same, but for its file, as a word for call_touched_descriptor that children of fork inherit. */
descriptor call_inherited(int fd);

/* It mapped so many bytes of a file (-1: failed). */
void call_mapped(const struct call *call, int fd, int64_t bytes);

/* Something that is no I/O (MPI_Init, fork): counted by number alone. It starts no engine. */
void call_lived(const struct call *call);
void call_lived_often(const struct call *call, uint32_t times);

#endif
