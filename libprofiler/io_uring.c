/* What a process does through io_uring, read from its rings: submissions when it hands them over, completions when it comes back, by
 * liburing's exported functions or by syscall(). A completion queue keeps what was in it until it has gone round, so that completions
 * which the program took out by itself are still found. Those that nobody comes by to read in time, and those of programs that enter the
 * kernel by instructions of their own, are known by number alone (problem uring_unseen). */
#include "io_uring.h"

#include "engine.h"
#include "peek.h"
#include "sparse.h"

#include <string.h>

/* The beginning of liburing's struct io_uring, the same since its version 2.0. */
struct liburing_ring {
    struct {
        const unsigned *head, *tail, *mask, *entries, *flags, *dropped, *array;
        const struct io_uring_sqe *sqes;
        unsigned sqe_head, sqe_tail;
        uint64_t size;
        void *address;
        unsigned unused[4];
    } sq;
    struct {
        const unsigned *head, *tail, *mask, *entries, *flags, *overflow;
        const struct io_uring_cqe *cqes;
        uint64_t size;
        void *address;
        unsigned unused[4];
    } cq;
    unsigned flags;
    int fd;
};
_Static_assert(offsetof(struct liburing_ring, cq) == 104 && offsetof(struct liburing_ring, fd) == 196, "as liburing has it");

enum { RINGS = 64, REGISTERED = 64 };

struct ring {
    _Atomic int fd_in_use;             /* fd + 1; 0: free */
    const struct liburing_ring *owner; /* NULL: the program's own */
    struct io_uring_params params;     /* of the program's own: where things lie in the mappings */
    char *sq, *cq;                     /* the mappings */
    const unsigned *sq_tail, *array, *cq_tail;
    const struct io_uring_sqe *sqes;
    const struct io_uring_cqe *cqes;
    unsigned sq_mask, cq_mask, sqe_shift, cqe_shift; /* in powers of two of an entry */
    unsigned noted;                                  /* submissions until here are known */
    unsigned scanned;                                /* completions until here are counted */
    _Atomic int is_scanning;
    uint32_t pid; /* whose it is */
    struct {
        int fd;
        descriptor word;
    } registered[REGISTERED]; /* files that submissions name by their number in here */
};
static void *_Atomic rings; /* RINGS of them, once there was one */

/* One after the other; NULL behind the last. */
static struct ring *ring_at(unsigned place)
{
    struct ring *first = atomic_load_explicit(&rings, memory_order_acquire);
    return first != NULL && place < RINGS ? first + place : NULL;
}

static void look_last(void);

static const uint64_t udata_of_liburing = UINT64_MAX; /* a timeout that liburing submits by itself */

/* A forked child has its parent's rings in its memory, but not among its own. */
static bool is_open(const struct ring *ring)
{
    return atomic_load_explicit(&ring->fd_in_use, memory_order_acquire) > 0 && ring->pid == engine_pid();
}

static struct ring *ring_of_fd(int fd)
{
    struct ring *ring;
    for (unsigned i = 0; (ring = ring_at(i)) != NULL; i++)
        if (is_open(ring) && atomic_load_explicit(&ring->fd_in_use, memory_order_relaxed) == fd + 1)
            break;
    return ring;
}

/* A place for the ring of that descriptor, which another one may have had before it; the caller fills and opens it. Those that find no
 * place are among the used ones, and unseen. */
static struct ring *ring_new(int fd)
{
    sparse_once(&rings, RINGS * sizeof(struct ring));
    engine_before_end = look_last;
    struct ring *ring = ring_of_fd(fd);
    for (unsigned i = 0; ring == NULL && ring_at(i) != NULL; i++) {
        int found = atomic_load(&ring_at(i)->fd_in_use);
        bool is_free = found == 0 || (found > 0 && ring_at(i)->pid != engine_pid());
        if (is_free && atomic_compare_exchange_strong(&ring_at(i)->fd_in_use, &found, -1))
            ring = ring_at(i);
    }
    return ring;
}

static void ring_open(struct ring *ring, int fd)
{
    ring->pid = engine_pid();
    ring->scanned = 0;
    ring->noted = 0;
    memset(ring->registered, 0, sizeof ring->registered);
    atomic_store_explicit(&ring->fd_in_use, fd + 1, memory_order_release);
}

/* Entries of double size are one power of two larger. */
static void read_flags(struct ring *ring, unsigned flags)
{
    ring->sqe_shift = (flags & (1u << 10)) != 0; /* IORING_SETUP_SQE128, which older headers do not have; 1 << 11: CQE32 */
    ring->cqe_shift = (flags & (1u << 11)) != 0;
    if ((flags & (1u << 16)) != 0) /* NO_SQARRAY */
        ring->array = NULL;
}

static enum operation operation_of(const struct io_uring_sqe *entry)
{
    switch (entry->opcode) {
    case IORING_OP_READ:
    case IORING_OP_READV:
    case IORING_OP_READ_FIXED: return OP_uring_read;
    case IORING_OP_WRITE:
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED: return OP_uring_write;
    case IORING_OP_FSYNC:
    case IORING_OP_SYNC_FILE_RANGE: return OP_uring_sync;
    case IORING_OP_OPENAT:
    case IORING_OP_OPENAT2:
    case IORING_OP_CLOSE:
    case IORING_OP_STATX:
    case IORING_OP_FALLOCATE:
    case IORING_OP_FADVISE:
    case IORING_OP_RENAMEAT:
    case IORING_OP_UNLINKAT: return OP_uring_meta;
    default: return OP_uring_other;
    }
}

/* What a program calls a request need not be unique; requests of one name are told apart by nothing but their order. */
static request_id id_of(const struct ring *ring, uint64_t user_data)
{
    return user_data ^ (uint64_t)(ring - ring_at(0) + 1) * 0x9e3779b97f4a7c15u;
}

static void note_submission(const struct ring *ring, const struct call *call, const struct io_uring_sqe *entry)
{
    enum operation operation = operation_of(entry);
    bool is_transfer = operation == OP_uring_read || operation == OP_uring_write;
    bool is_on_descriptor = is_transfer || operation == OP_uring_sync;
    int64_t offset = is_transfer && entry->off != UINT64_MAX ? (int64_t)entry->off : NO_OFFSET;
    bool is_registered = (entry->flags & IOSQE_FIXED_FILE) != 0;
    request_id id = id_of(ring, entry->user_data);
    if (is_registered && (unsigned)entry->fd < REGISTERED && ring->registered[entry->fd].word != 0)
        request_begin_on(id, operation, call, ring->registered[entry->fd].fd, ring->registered[entry->fd].word, offset);
    else
        request_begin(id, operation, call, is_on_descriptor && !is_registered ? entry->fd : -1, offset);
}

static void note_submissions(struct ring *ring, const struct call *call, unsigned tail)
{
    if (tail - ring->noted > ring->sq_mask + 1)
        ring->noted = tail - ring->sq_mask - 1;
    for (; ring->noted != tail; ring->noted++) {
        unsigned place = ring->noted & ring->sq_mask;
        if (ring->array != NULL)
            place = ring->array[place] & ring->sq_mask;
        note_submission(ring, call, &ring->sqes[place << ring->sqe_shift]);
    }
}

/* Whoever finds another thread (or itself, in a signal handler) at it leaves it to that one. Returns what the first one was on. */
static descriptor scan(struct ring *ring, const struct call *call)
{
    descriptor first = 0;
    if (atomic_exchange_explicit(&ring->is_scanning, 1, memory_order_acquire) != 0)
        return 0;
    unsigned tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE), from = ring->scanned, room = ring->cq_mask + 1;
    uint64_t unseen = tail - from > room ? tail - from - room : 0;
    for (from += (unsigned)unseen; from != tail; from++) {
        const struct io_uring_cqe *entry = &ring->cqes[(from & ring->cq_mask) << ring->cqe_shift];
        if (entry->user_data == udata_of_liburing)
            continue;
        descriptor word = request_done(id_of(ring, entry->user_data), call, entry->res);
        unseen += word == 0;
        first = first != 0 ? first : word;
    }
    ring->scanned = tail;
    atomic_store_explicit(&ring->is_scanning, 0, memory_order_release);
    if (unseen > 0)
        engine_count_problem(PROBLEM_uring_unseen, unseen);
    return first;
}

/* What is complete by now belongs to earlier submissions: it is counted first, for a later one may have the same name. */
static void scan_and_note(struct ring *ring, const struct call *call, unsigned tail)
{
    struct call until_now = *call;
    until_now.end_tick = call->start_tick;
    scan(ring, &until_now);
    note_submissions(ring, call, tail);
}

static bool is_mapped(const struct ring *ring)
{
    return ring->cqes != NULL && ring->sqes != NULL;
}

/* What is mapped at once goes at once: the program may have unmapped it behind our back. */
static bool is_there(const struct ring *ring)
{
    struct peek_pages pages = { 0 };
    return is_mapped(ring) && peek_can_read(&pages, ring->sq_tail, sizeof *ring->sq_tail) &&
           peek_can_read(&pages, ring->cq_tail, sizeof *ring->cq_tail) && peek_can_read(&pages, ring->sqes, sizeof *ring->sqes);
}

/* The program may have mapped a part of it. */
static bool is_whole(const struct ring *ring)
{
    struct peek_pages pages = { 0 };
    const struct io_uring_sqe *last_sqe = &ring->sqes[(size_t)ring->sq_mask << ring->sqe_shift];
    const struct io_uring_cqe *last_cqe = &ring->cqes[(size_t)ring->cq_mask << ring->cqe_shift];
    return is_there(ring) && peek_can_read(&pages, last_sqe, sizeof *last_sqe) && peek_can_read(&pages, last_cqe, sizeof *last_cqe) &&
           (ring->array == NULL || peek_can_read(&pages, &ring->array[ring->sq_mask], sizeof *ring->array));
}

/* Its mappings are about to go. */
static void ring_close(struct ring *ring)
{
    struct call call = call_begin(OP_io_uring_enter);
    call_end(&call);
    if (is_there(ring))
        scan(ring, &call);
    atomic_store_explicit(&ring->fd_in_use, 0, memory_order_release);
    call_close(&call);
}

static void look_last(void)
{
    struct ring *ring;
    for (unsigned i = 0; (ring = ring_at(i)) != NULL; i++)
        if (is_open(ring))
            ring_close(ring);
}

void uring_set_up(const struct call *call, int fd, const struct io_uring_params *params)
{
    call_lived(call);
    if (fd < 0 || !engine_start())
        return;
    engine_count_problem(PROBLEM_uring_used, 1);
    struct ring *ring = ring_new(fd);
    if (ring == NULL)
        return;
    ring->owner = NULL;
    ring->params = *params;
    ring->sq = ring->cq = NULL;
    ring->sqes = NULL;
    ring->cqes = NULL;
    ring_open(ring, fd);
}

/* Finds the queues in what the program has mapped so far. */
static void wire(struct ring *ring)
{
    const struct io_uring_params *params = &ring->params;
    const char *sq = ring->sq, *cq = (params->features & IORING_FEAT_SINGLE_MMAP) != 0 && ring->cq == NULL ? ring->sq : ring->cq;
    struct peek_pages pages = { 0 };
    ring->cqes = NULL;
    if (sq == NULL || cq == NULL || ring->sqes == NULL || !peek_can_read(&pages, sq + params->sq_off.ring_mask, sizeof ring->sq_mask) ||
        !peek_can_read(&pages, cq + params->cq_off.ring_mask, sizeof ring->cq_mask))
        return;
    ring->sq_mask = *(const unsigned *)(sq + params->sq_off.ring_mask);
    ring->cq_mask = *(const unsigned *)(cq + params->cq_off.ring_mask);
    ring->sq_tail = (const unsigned *)(sq + params->sq_off.tail);
    ring->array = (const unsigned *)(sq + params->sq_off.array);
    ring->cq_tail = (const unsigned *)(cq + params->cq_off.tail);
    read_flags(ring, params->flags);
    ring->cqes = (const struct io_uring_cqe *)(cq + params->cq_off.cqes);
    if (!is_whole(ring))
        ring->cqes = NULL;
}

void uring_mapped(int fd, int64_t offset, void *address)
{
    struct ring *ring = engine_start() ? ring_of_fd(fd) : NULL;
    if (ring == NULL || ring->owner != NULL)
        return;
    switch (offset) {
    case IORING_OFF_SQ_RING: ring->sq = address; break;
    case IORING_OFF_CQ_RING: ring->cq = address; break;
    case IORING_OFF_SQES: ring->sqes = address; break;
    default: return;
    }
    wire(ring);
}

void uring_unmaps(const void *address)
{
    struct ring *ring;
    for (unsigned i = 0; (ring = ring_at(i)) != NULL; i++)
        if (is_open(ring) && ring->owner == NULL && (address == ring->sq || address == ring->cq || address == ring->sqes))
            ring_close(ring);
}

bool uring_begin(const struct call *call, int fd)
{
    struct ring *ring = engine_start() ? ring_of_fd(fd) : NULL;
    if (ring == NULL || !is_there(ring))
        return false;
    scan_and_note(ring, call, __atomic_load_n(ring->sq_tail, __ATOMIC_ACQUIRE));
    return true;
}

void uring_entered(const struct call *call, int fd, bool is_known, long result)
{
    struct ring *ring = is_known && engine_start() ? ring_of_fd(fd) : NULL;
    bool is_readable = ring != NULL && is_mapped(ring) && (result >= 0 || is_there(ring));
    descriptor first = is_readable ? scan(ring, call) : 0;
    call_touched_descriptor(call, first, result < 0);
}

/* The ring of a liburing that the program uses; met for the first time, it is taken in. */
static struct ring *ring_of(const struct liburing_ring *owner)
{
    if (!engine_start())
        return NULL;
    struct ring *ring = ring_of_fd(owner->fd);
    if (ring != NULL && ring->owner == owner && ring->cqes == owner->cq.cqes)
        return ring;
    struct peek_pages pages = { 0 };
    if (!peek_can_read(&pages, owner->sq.mask, sizeof *owner->sq.mask) || !peek_can_read(&pages, owner->cq.mask, sizeof *owner->cq.mask))
        return NULL; /* it was never made */
    if (ring == NULL || ring->owner != NULL) /* else its making was seen */
        engine_count_problem(PROBLEM_uring_used, 1);
    ring = ring_new(owner->fd);
    if (ring == NULL)
        return NULL;
    ring->owner = owner;
    ring->sq_tail = owner->sq.tail;
    ring->array = NULL; /* liburing's is one to one */
    ring->sqes = owner->sq.sqes;
    ring->sq_mask = *owner->sq.mask;
    ring->cq_tail = owner->cq.tail;
    ring->cq_mask = *owner->cq.mask;
    ring->cqes = owner->cq.cqes;
    read_flags(ring, owner->flags);
    ring_open(ring, owner->fd);
    return ring;
}

void uring_begin_on(const struct call *call, const struct liburing_ring *owner)
{
    struct ring *ring = ring_of(owner);
    if (ring != NULL)
        scan_and_note(ring, call, owner->sq.sqe_tail);
}

void uring_entered_on(const struct call *call, const struct liburing_ring *owner, int result)
{
    struct ring *ring = ring_of(owner);
    bool is_error = result < 0 && result != -EAGAIN && result != -ETIME; /* to find nothing in time is none */
    call_touched_descriptor(call, ring != NULL ? scan(ring, call) : 0, is_error);
}

void uring_exits_on(const struct liburing_ring *owner)
{
    struct ring *ring = ring_of(owner);
    if (ring != NULL)
        ring_close(ring);
}

void uring_registered(int ring_fd, const int *files, unsigned count)
{
    struct ring *ring = engine_start() ? ring_of_fd(ring_fd) : NULL;
    for (unsigned i = 0; ring != NULL && i < count && i < REGISTERED; i++) {
        ring->registered[i].fd = files[i];
        ring->registered[i].word = files[i] >= 0 ? call_descriptor(files[i]) : 0;
    }
}

void uring_registered_on(const struct liburing_ring *owner, const int *files, unsigned count)
{
    if (ring_of(owner) != NULL)
        uring_registered(owner->fd, files, count);
}
