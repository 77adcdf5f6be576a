/* The segment: one process's profile while it is being made, in a file that survives the process. Lanes hold open slices, `records` closed
 * ones, `frames` packed ones. Within the living process all but a thread's own lane belongs to the holder of the engine's lock; whoever
 * finishes a dead process's segment holds the file's lock (collector/). Functions here and in record.c, pack.c and drain.c take any
 * segment, their own process's or a dead one's, and never print. */
#ifndef SLICEWISE_SEGMENT_H
#define SLICEWISE_SEGMENT_H

#include "ledger.h"
#include "names.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    MOUNTS_MAX = 64,
    FILES_MAX = 768,
    FILES_KEPT = 256,      /* of those with most bytes, and as many of those with most time, when rows are given up */
    FILE_MEASURES = 2,     /* bytes, time */
    FILE_HEADS = 512,
    FILE_CELLS = 4096,
    FILE_NAME_BYTES = 240,
    FILES_NEAR = 7,        /* rows whose names lie on the same page as they do */
    FILE_NONE = 0xffff,    /* not a file */
    UNPROFILED_MAX = 32,
    TEXT_BYTES = 48 << 10,
    RECORDS_MAX = 96,
    RECORDS_NEAR = 5, /* on the same page as the first frame */
    RECORDS_KEPT = 16, /* with memory from the first slice's turn on: two slices of a full lane */
    FRAMES_DUE_BYTES = 96 << 10, /* of frames: then a process drains while it runs */
    FRAMES_BYTES = 256 << 10,    /* what there is room for while the spool does not answer */
    FRAMES_KEPT_BYTES = 16 << 10, /* with memory from the first slice's turn on */
    SCARCE_BYTES = 64 << 20, /* of free memory, all that a container has by default: then a process reserves both as it begins, or goes elsewhere */
    LANES_MAX = 4096,
    LANE_BYTES = 8192,
    CELL_UNIT_BYTES = 32, /* where a cell lies in its lane is a byte that counts these */
    CELL_LAYERS = LAYERS, /* of which lanes count all but the kernel's */
    STREAMS = 16,
    PAGE_BYTES = 4096,
    SITES_MAX = 512,
    SITE_MODULES_MAX = 128,
    SITE_FRAMES_MAX = 4096,
    SITE_FRAMES_UNPACKED_MAX = 256, /* a frame of the file has room for so many of them, and for one stack more */
    SITE_DEPTH_MAX = 64,
    PYTHON_NAME_BYTES = 96, /* of the Python frames among those */
    PYTHON_FILE_BYTES = 160,
    SITE_ROWS_MAX = LEDGER_ROWS_MAX,
    SERVED_A_READING = 64,    /* stdio calls that buffers served between two readings of the clock */
    SERVED_APART_NS = 100000, /* of calls that come further apart each reads it */
    MOVING_KINDS = 2, /* of calls: reads and writes */
    EVENTS_MAX = 8,
    HARDWARE_ROWS_MAX = 64,
    WAIT_ROWS_MAX = 64,
    USAGE_ROWS_MAX = 64,
    UNFINISHED_MAX = 16, /* calls under way that the collector notes, */
    UNFINISHED_SLICES_MAX = 1000000, /* and how long one may be */
    REGIONS_MAX = 512,  /* under way at one time, */
    REGION_LANES = 512, /* and on these lanes */
    REGION_NAMES_MAX = 64,
    REGION_NAME_BYTES = 64,
    REGION_OCCURRENCES_MAX = 1000, /* of a name that have rows of their own */
    REGION_ROWS_MAX = 128,
};

/* What a thread did in calls of MPI of one class; its waits of one kind for other threads, and in the place of bytes those of the first thread; or
 * what accelerators did. */
struct communicated {
    uint64_t calls, ns, bytes;
};

/* What is no I/O has these in the place of a layer: MPI's communication, waits for other threads, and what accelerators did. */
enum { RECORD_COMMUNICATION = LAYERS, RECORD_THREAD_WAITS, RECORD_ACCELERATED };

/* A mount's counters of the open slice, in one lane and layer; or, in a cell of its own, waits for other threads. `served`: reads and writes of at
 * most SIZE_BIN_0_END bytes each that a stream's buffer served, and that went on where the one before ended; they are not in `counts` but for their
 * bytes (cell_counts). */
struct cell {
    uint32_t mount, layer;
    uint64_t served[MOVING_KINDS];
    union {
        struct counts counts;
        struct communicated waits[THREAD_WAITS];
    };
} __attribute__((aligned(CELL_UNIT_BYTES)));

/* So many reads or writes that a buffer served, of a size in this bin. */
static inline void add_served(struct counts *counts, enum call_kind kind, unsigned bin, uint64_t calls)
{
    counts->counter[COUNTER_read_ops + kind] += calls;
    counts->counter[COUNTER_read_sequential + kind] += calls;
    counts->counter[COUNTER_read_consecutive + kind] += calls;
    counts->bin[BINS_read_size + 10 * kind + bin] += (uint32_t)calls;
}

/* All that a cell counts. */
static inline void cell_counts(const struct cell *cell, struct counts *counts)
{
    *counts = cell->counts;
    for (unsigned kind = 0; kind < MOVING_KINDS; kind++)
        add_served(counts, (enum call_kind)kind, 0, cell->served[kind]);
}

#define NOTHING_TO_FOLLOW INT64_MAX
#define NOT_USUAL 1 /* no entry of a table */
#define NO_TRUST 1u

/* Of the columns of a file those that calls add to. */
#define FILE_SUM(column) ((column) - files_opens)
#define FILE_SUMS (FILE_SUM(files_write_ns) + 1)

/* What a thread did with one descriptor since it last switched to another that shares its place: position for the access
 * pattern, and sums that go to the table of files when the place is given up. */
struct stream {
    uint64_t descriptor; /* the table's entry with its generation; 0: free */
    uint64_t id;         /* of its file (descriptor.h) */
    uint64_t usual; /* the same with the layer of `cell`, in which a call on it is counted in this slice; else NOT_USUAL. Of stdio only where the
                          * next access begins where the last one ended */
    union {
        struct {
            int32_t fd;
            uint32_t trust; /* lazy_start.h: while that is the same, `usual` is what the table of descriptors says of `fd`; else NO_TRUST */
        };
        uint64_t trusted; /* both, to be compared at once */
    };
    uint32_t file; /* its row; 0: none yet, FILE_NONE: none ever */
    uint16_t cell; /* its place in the lane, in bytes */
    uint16_t is_absolute; /* positions are the file's own, and not counted from the first access */
    int64_t position, last_end; /* where the next access begins and the last one ended */
    uint64_t counter[FILE_SUMS];
    uint64_t served_bytes[MOVING_KINDS]; /* moved since by calls that a buffer served; not in the three above yet (stream_catch_up) */
} __attribute__((aligned(128))); /* a power of two, to be found in one step */

_Static_assert(sizeof(struct stream) == 128, "one more member would double it");

/* From here on each call on the stream is looked at. */
static inline void stream_is_unusual(struct stream *stream)
{
    stream->trust = NO_TRUST;
    stream->usual = NOT_USUAL;
}

/* Brings position and sums up to what buffers served. */
static inline void stream_catch_up(struct stream *stream)
{
    if (stream->served_bytes[KIND_read] == 0 && stream->served_bytes[KIND_write] == 0)
        return;
    for (unsigned kind = 0; kind < MOVING_KINDS; kind++) {
        uint64_t bytes = stream->served_bytes[kind];
        stream->served_bytes[kind] = 0;
        stream->counter[FILE_SUM(files_read_bytes) + kind] += bytes;
        stream->position += (int64_t)bytes;
        stream->last_end += (int64_t)bytes;
    }
}

/* One thread's open slice. Written by its owner alone, without a lock; the slice is turned under the engine's lock. */
struct lane {
    uint64_t slice;
    uint32_t cells_used;
    _Atomic uint32_t generation; /* grows when the slice's counts have become records */
    _Atomic uint32_t owner; /* thread id; 0: nobody's */
    uint64_t was_counted[CELL_LAYERS]; /* bit m: this owner is in `threads` of mount m already */
    uint8_t cell_of[CELL_LAYERS][MOUNTS_MAX]; /* its place in the lane; 0: none yet */
    struct stream streams[STREAMS];
    uint64_t calls[OPERATIONS];
    uint64_t other_files[FILE_SUMS]; /* of files without a row */
    struct communicated communicated[MPI_CLASSES];
    struct cell cells[];
};
#define CELL_UNIT_OF(lane, cell) ((uint8_t)(((const unsigned char *)(cell) - (const unsigned char *)(lane)) / CELL_UNIT_BYTES))
#define CELLS ((LANE_BYTES - offsetof(struct lane, cells)) / sizeof(struct cell))
_Static_assert(LANE_BYTES / CELL_UNIT_BYTES <= 256, "a cell's place fits a byte; double CELL_UNIT_BYTES");
/* With fewer cells than a slice needs, the slice is divided (lane.c): nothing is lost, but its records are more. */
_Static_assert(CELLS >= CELL_LAYERS - 1, "a lane has room for one mount in each layer but the kernel's; raise LANE_BYTES by PAGE_BYTES");

static inline bool lane_has_communicated(const struct lane *lane)
{
    uint64_t any = 0;
    for (unsigned place = 0; place < MPI_CLASSES; place++)
        any |= lane->communicated[place].calls | lane->communicated[place].ns;
    return any != 0;
}

/* A closed slice of one mount and layer, or of what is no I/O. */
struct record {
    uint64_t slice;
    uint32_t mount, layer;
    union {
        struct counts counts;
        struct communicated communicated[MPI_CLASSES]; /* waits: the first THREAD_WAITS of them; likewise what accelerators did */
    };
};
_Static_assert((int)THREAD_WAITS <= (int)MPI_CLASSES && (int)ACCELERATED_KINDS <= (int)MPI_CLASSES, "they have room among the classes");

/* What a process did on a mount in slices that are closed, by kind of call (the layers posix, stdio and async): for those who look on. So few
 * that they fit beside the head; the last one is that of all further mounts. */
enum { TOTALS_MAX = 16, TOTAL_KINDS = 4 };
struct total {
    uint64_t ops[TOTAL_KINDS], ns[TOTAL_KINDS], bytes[MOVING_KINDS];
};

/* What all threads of a process did in calls of one function of an I/O library. */
struct library_called {
    _Atomic uint64_t calls, ns, file_ns, mpi_ns;
};
/* The enum io_library that each function belongs to. */
extern const unsigned char library_of_function[LIBRARY_FUNCTIONS];

/* A call that a thread was in for long when the collector looked, or one direction of it. */
struct unfinished {
    uint32_t thread, mount;
    enum call_kind kind;
    uint32_t parts; /* of its time this direction has one of so many */
    uint64_t begin_ns, first_ns, last_ns; /* CLOCK_REALTIME: about when it began, and when it was first and last seen under way */
    uint64_t bytes;             /* what the kernel had moved for it by then */
};

/* What a lane counts for regions: of the columns of a region those that add up. */
#define REGION_SUM(column) ((column) - regions_read_bytes)
#define REGION_SUMS (REGION_SUM(regions_mpi_ns) + 1)

/* An occurrence of a region that is under way. */
struct region {
    uint64_t token; /* the process's id over the region's number; 0: free */
    uint64_t begin_ns, begun[REGION_SUMS]; /* what its lane had counted then */
    uint32_t lane, thread;
    uint32_t outer;  /* 1 + place of the one around it on its thread; 0: none. Of a free one: the next that is free, likewise */
    uint32_t level;  /* of MPI_Pcontrol; else 0 */
    uint64_t object; /* address of the program's object that stands for it; else 0 */
    char name[REGION_NAME_BYTES];
};

/* A name of regions, and the row of those that have none of their own. Of its two states one counts, so that it changes in one step. */
struct region_name {
    uint64_t seen; /* how many of the name ended */
    struct {
        uint64_t row[REGION_COLUMNS], token; /* of the region that was added last */
    } sums[2];
    _Atomic uint32_t counts;
};

struct regions {
    struct ledger ledger;
    uint32_t used, names_used;
    uint32_t free; /* 1 + place of the first of these; 0: none */
    uint64_t has_closed[REGION_LANES / 64]; /* lanes */
    uint64_t rows[REGION_ROWS_MAX][REGION_COLUMNS]; /* of those that ended, until they are packed */
    struct region_name names[REGION_NAMES_MAX]; /* the first one is that of all names that find no room */
    struct region open[REGIONS_MAX];
    /* What lanes that had a region have counted in slices that are closed: of the two states the one of the lane's generation counts. */
    uint64_t closed[REGION_LANES][2][REGION_SUMS];
};

/* A file's row, and its place in the chain of those with one hash. */
struct file {
    _Atomic uint64_t id; /* 0: none */
    _Atomic uint16_t next;
    uint32_t next_free;
    uint64_t path_hash; /* of mount and path; 0: without a path */
    uint64_t row[FILE_COLUMNS];
};

/* Of all files with one hash. What of a new file must be looked at is on one line of the cache. */
struct file_cell {
    _Atomic uint64_t passed[FILE_MEASURES]; /* what one without a row has had at most */
    _Atomic uint32_t rows;                  /* how many have rows, at most; not before there were more files than rows */
} __attribute__((aligned(32)));

/* Before it lie the names, the last of which is the first row's: of few files all is on one page. See files.h. */
struct files {
    char unused[FILES_NEAR * FILE_NAME_BYTES]; /* so much the names end after a page's beginning */
    char names[FILES_MAX][FILE_NAME_BYTES];
    _Atomic uint32_t version; /* grows when a row comes or goes; odd while some are given up */
    _Atomic uint32_t is_filtering; /* there were more files than rows */
    _Atomic uint64_t enough[FILE_MEASURES]; /* what a file without a row must pass to get one */
    uint32_t first_free;
    _Atomic uint16_t heads[FILE_HEADS];
    struct file file[FILES_MAX]; /* 0: all files without a row */
    /* From here on there is no memory before there were more files than rows. */
    struct file_cell cells[FILE_CELLS] __attribute__((aligned(PAGE_BYTES))); /* by hash */
    uint64_t before[FILE_SUMS]; /* of row 0, while the sums of row `giving_up` are added to it (files.c); 0: none is */
    _Atomic uint32_t giving_up;
    uint32_t entered; /* rows, since there were more files than rows */
};
_Static_assert(FILES_MAX *FILE_NAME_BYTES % PAGE_BYTES == 0, "names end where they are meant to");
#define FILE_NAMES_BEGIN ((uint64_t)TEXT_BYTES) /* names stand for texts, from this one on */
#define FILE_NAME_TEXT(row) (FILE_NAMES_BEGIN + (FILES_MAX - (row)) * (uint64_t)FILE_NAME_BYTES) /* of a row but 0, which has none */

/* What is closed and packed, in one word, so that it changes in one step whenever the process dies. */
union commit {
    uint64_t word;
    struct {
        uint32_t records : 8;
        uint32_t frame_bytes : 24;
        uint32_t next_frame;
    };
};
_Static_assert(RECORDS_MAX < 1 << 8 && FRAMES_BYTES < 1 << 24, "the commit word holds both");

/* Where a process's spool_dir leads to: the root directory when the process began, and the longest part of the path that could be looked at when it
 * made its segment. */
struct spool_anchor {
    uint64_t root_device, root_inode; /* 0: not known */
    uint64_t device, inode;
    uint32_t path_bytes; /* of spool_dir; 0: nothing could be seen of it */
};

#define RECORDS_APART (PAGE_BYTES - (RECORDS_MAX - RECORDS_NEAR) * sizeof(struct record) % PAGE_BYTES)

enum segment_state { SEGMENT_BEGINNING, SEGMENT_LIVE, SEGMENT_LEAVING, SEGMENT_DONE };

struct segment {
    char magic[8];
    char version[16];
    uint64_t layout;
    uint64_t process;
    uint64_t pid_namespace;
    uint32_t pid;
    _Atomic uint32_t state;
    _Atomic uint64_t commit;
    /* The lane whose counts are in the records as of commit `committed`, but may not be cleared yet: valid while the lane's
     * generation is the one named. */
    _Atomic uint32_t closing_lane, closing_generation;
    _Atomic uint64_t closing_commit; /* 0: none */
    uint32_t mounts_used, mounts_packed;
    _Atomic uint32_t files_used; /* looked at without the lock */
    uint32_t text_used, lanes_used, unprofiled_used;
    uint32_t is_process_packed, is_last_packed;
    uint32_t is_of_node; /* a collector's own: it has samples (samples.h) in the place of records, and is no process's */
    uint32_t events_used, modules_used, modules_packed, frames_used, frames_packed;
    struct ledger site_ledger, hardware_ledger, wait_ledger, usage_ledger;
    uint32_t is_spool_torn; /* the last write to the spool ended in the middle */
    _Atomic uint32_t past_frame; /* 1 + number of a frame of these very records that may be in the spool before its commit; 0: none */
    /* What a collector writes while the process lives: it takes copies of frames, and the process alone removes them (drain.c). */
    _Atomic uint64_t collected; /* frames of lower numbers are in the spool; guarded against half a write (collected_pack) */
    _Atomic uint64_t collector_until_ns; /* CLOCK_MONOTONIC before which the collector comes again; 0: nobody does */
    uint64_t created_ns; /* CLOCK_BOOTTIME: whoever has the process's id and began later is somebody else */
    uint32_t unfinished_used;
    uint32_t is_group_readable;
    uint32_t names; /* enum names: what of paths and programs goes into frames */
    uint8_t names_key[32];
    char boot_id[36]; /* of a segment that outlives a restart of the node */
    _Atomic uint64_t last_call_ns; /* when a slice was last turned: what a dead process's end is at least */
    uint64_t problems[PROBLEMS];
    uint64_t process_row[PROCESS_COLUMNS];
    char spool_dir[1024];
    struct spool_anchor anchor;
    struct total totals[TOTALS_MAX];
    uint64_t kernel_bytes[MOVING_KINDS]; /* the kernel's own count, of the same slices */
    _Atomic uint32_t has_library_calls; /* `library_calls` may be used */
    uint32_t has_regions; /* `regions` may be, as far as it is reserved */
    _Atomic uint32_t totals_turn; /* odd while what lanes hold becomes part of the totals */
    uint64_t events[EVENTS_MAX][EVENT_COLUMNS];
    uint64_t usage[USAGE_ROWS_MAX][USAGE_COLUMNS]; /* the first rows lie on the first page */
    uint64_t mounts[MOUNTS_MAX][MOUNT_COLUMNS] __attribute__((aligned(PAGE_BYTES)));
    char text[TEXT_BYTES] __attribute__((aligned(64))); /* begins on the page that the mounts are on */
    struct files files __attribute__((aligned(PAGE_BYTES)));
    uint64_t hardware[HARDWARE_ROWS_MAX][HARDWARE_COLUMNS] __attribute__((aligned(PAGE_BYTES)));
    uint64_t unprofiled[UNPROFILED_MAX][UNPROFILED_COLUMNS];
    uint64_t waits[WAIT_ROWS_MAX][WAIT_COLUMNS];
    struct unfinished unfinished[UNFINISHED_MAX]; /* written by the collector alone, as `unfinished_used` */
    struct library_called library_calls[LIBRARY_FUNCTIONS] __attribute__((aligned(PAGE_BYTES)));
    struct regions regions __attribute__((aligned(PAGE_BYTES)));
    uint64_t sites[SITE_ROWS_MAX][SITE_COLUMNS] __attribute__((aligned(PAGE_BYTES)));
    uint64_t modules[SITE_MODULES_MAX][MODULE_COLUMNS] __attribute__((aligned(PAGE_BYTES)));
    uint64_t site_frames[SITE_FRAMES_MAX][FRAME_COLUMNS];
    /* The first record is the last one here (segment_record), so that few records and a first frame are on one page. */
    unsigned char unused[RECORDS_APART] __attribute__((aligned(PAGE_BYTES)));
    struct record records[RECORDS_MAX];
    unsigned char frames[FRAMES_BYTES];
    unsigned char lanes[LANES_MAX][LANE_BYTES] __attribute__((aligned(PAGE_BYTES)));
};
_Static_assert(offsetof(struct segment, usage[1]) <= PAGE_BYTES && offsetof(struct segment, text) % PAGE_BYTES <= PAGE_BYTES - 512,
               "a process with few calls touches two pages of these");
#define SEGMENT_FIXED_BYTES offsetof(struct segment, lanes)
#define SEGMENT_MAGIC "slicewis"

/* A mapped segment, as its process (or whoever finishes it) holds it. */
struct segment_home {
    struct segment *segment;
    enum place place;
    char path[512]; /* empty: private memory */
    unsigned number; /* the path's last part: programs of the same process before ours left the lower ones */
    bool reserves_by_path; /* the kernel is too old to populate a mapping */
    bool is_drained_apart; /* a full segment is not drained in the midst of packing: the caller holds a lock that others wait for */
    _Atomic bool is_short; /* there was no memory for part of it */
    uint64_t reserved[SEGMENT_FIXED_BYTES / PAGE_BYTES / 64 + 1];
};

/* Makes a segment NAME in `dir`, else in TMPDIR, else in private memory, and reserves its head. Returns 0, or -errno if there is no
 * memory at all. */
int segment_create(struct segment_home *home, const char *dir, const char *name);

/* Reserves what a process needs from its first slice's turn on, so that its slices can be closed and packed while memory is full. Returns 0 or
 * -errno. */
int segment_reserve_kept(struct segment_home *home);

/* Reserves memory for part of the segment before it is touched, since touching a page that shared memory has no room for would kill the
 * process. Returns 0 or -errno. */
int segment_reserve(struct segment_home *home, const void *part, size_t bytes);

void segment_unmap(struct segment_home *home);

/* The directory of a user's segments below `dir`; empty, which is nowhere, if that is too long. It has other names, by `number`, for somebody else
 * may have taken the first ones: a process in a user namespace takes the one of a number that is another user's outside. */
#define USER_DIR "slicewise-"
enum { USER_DIRS = 8 };
void segment_user_dir(char *path, size_t room, const char *dir, unsigned uid, unsigned number);

/* Whether a name could be that of such a directory, of whichever user: whose it is its owner tells. */
bool segment_is_user_dir(const char *name);

/* Whether the directory is this user's alone, so that nobody else can plant files or links in it. */
bool segment_dir_is_private(const char *path);

/* Lets the owner's group read the segment. */
void segment_share(struct segment_home *home);

/* This run of the node's kernel; zeros where that cannot be told. */
void segment_boot_id(char id[36]);

/* Identifies the layout in memory: only the same build of the engine reads a segment. */
uint64_t segment_layout(void);

static inline uint64_t segment_layout_of(uint32_t schema)
{
    /* Sizes alone do not tell: the gaps before aligned parts take up what is added before them. */
    const uint64_t facts[] = {
        /* clang-format off */
        schema, CELLS, sizeof(struct segment), sizeof(struct lane), sizeof(struct cell), sizeof(struct stream), sizeof(struct record),
        offsetof(struct segment, closing_lane), offsetof(struct segment, mounts_used), offsetof(struct segment, names_key),
        offsetof(struct segment, last_call_ns),
        offsetof(struct segment, problems), offsetof(struct segment, process_row), offsetof(struct segment, spool_dir),
        offsetof(struct segment, mounts), offsetof(struct segment, unprofiled), offsetof(struct segment, unfinished), offsetof(struct segment, text),
        offsetof(struct segment, files), offsetof(struct segment, records), offsetof(struct segment, frames),
        offsetof(struct lane, cell_of), offsetof(struct lane, streams), offsetof(struct lane, calls), offsetof(struct lane, cells),
        sizeof(struct file), offsetof(struct files, heads), offsetof(struct files, names), offsetof(struct lane, other_files), offsetof(struct stream, file),
        offsetof(struct segment, regions), offsetof(struct regions, names), offsetof(struct regions, open), sizeof(struct region),
        offsetof(struct stream, counter), offsetof(struct counts, bin),
        /* clang-format on */
    };
    uint64_t layout = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        layout = (layout ^ facts[i]) * 0x9e3779b97f4a7c15u;
    return layout;
}

static inline struct lane *segment_lane(struct segment *segment, uint32_t index)
{
    return (struct lane *)segment->lanes[index];
}

/* The records as they were closed; those of a batch lie one before the other. */
static inline struct record *segment_record(struct segment *segment, uint32_t index)
{
    return &segment->records[RECORDS_MAX - 1 - index];
}

static inline struct cell *lane_cell(struct lane *lane, unsigned place)
{
    return (struct cell *)((unsigned char *)lane + place * CELL_UNIT_BYTES);
}

static inline const char *segment_text(const struct segment *segment, uint64_t text)
{
    if (text >= FILE_NAMES_BEGIN && text - FILE_NAMES_BEGIN < sizeof segment->files.names)
        return segment->files.names[0] + (text - FILE_NAMES_BEGIN);
    return text < TEXT_BYTES ? segment->text + text : "";
}

/* Copies a string into the segment's text. Returns where, or 0 (the empty string) if it does not fit. */
uint64_t segment_add_text(struct segment_home *home, const char *string);

/* Where a lane's counts of closed slices are; NULL: it had no region. */
static inline uint64_t *lane_closed(struct segment *segment, uint32_t index)
{
    if (segment->has_regions == 0 || index >= REGION_LANES || (segment->regions.has_closed[index / 64] >> (index % 64) & 1) == 0)
        return NULL;
    return segment->regions.closed[index][atomic_load_explicit(&segment_lane(segment, index)->generation, memory_order_relaxed) & 1];
}

/* A frame number that another process writes by a system call, which need not be seen as one store: valid as a whole alone. */
static inline uint64_t collected_pack(uint32_t frames)
{
    return (uint64_t)~frames << 32 | frames;
}

/* How many of the process's frames a collector has put into the spool. */
static inline uint32_t collected_frames(const struct segment *segment)
{
    uint64_t word = atomic_load_explicit(&segment->collected, memory_order_acquire);
    return word == collected_pack((uint32_t)word) ? (uint32_t)word : 0;
}

static inline struct total *segment_total(struct segment *segment, uint32_t mount)
{
    return &segment->totals[mount < TOTALS_MAX ? mount : TOTALS_MAX - 1];
}

static inline void segment_count_problem(struct segment *segment, enum problem problem)
{
    __atomic_fetch_add(&segment->problems[problem], 1, __ATOMIC_RELAXED); /* some are counted without the lock as well (lane.c) */
}

#endif
