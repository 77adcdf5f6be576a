#include "mpi_waiting.h"

#include "peek.h"

#include <sys/mman.h>

static bool is_ignored_in_fortran(const void *status)
{
    return mpi_library_is_ignored_in_fortran(status);
}

static int64_t bytes_read_in_fortran(const void *status, int64_t asked)
{
    union mpi_status in_c = { 0 };
    return mpi_library_status(status, &in_c) ? mpi_library_bytes_read(&in_c, asked) : asked;
}

const struct mpi_language mpi_in_c = { mpi_library_request, mpi_library_is_ignored, mpi_library_bytes_read, 0 };
const struct mpi_language mpi_in_fortran = { mpi_library_request_in_fortran, is_ignored_in_fortran, bytes_read_in_fortran, 1 };

void mpi_waiting_claim(struct mpi_waiting *waiting, const struct mpi_language *language, int count, const void *requests)
{
    waiting->language = language;
    waiting->requests = requests;
    waiting->count = count;
    waiting->first = NULL;
    waiting->statuses = NULL;
    waiting->mapped_bytes = 0;
    for (int i = waiting->call.is_counted && requests != NULL ? count - 1 : -1; i >= 0; i--) {
        struct mpi_pending *pending = mpi_pending_claim(language->request(requests, (unsigned)i));
        if (pending == NULL)
            continue;
        pending->place = (unsigned)i;
        pending->next = waiting->first;
        waiting->first = pending;
    }
    if (waiting->first != NULL)
        communication_open_is(waiting->call.class = MPI_CLASS_file);
}

void *mpi_waiting_status(struct mpi_waiting *waiting, void *status)
{
    waiting->has_status_each = false;
    waiting->statuses = waiting->first != NULL && waiting->language->is_ignored(status) ? waiting->room : status;
    return waiting->statuses;
}

static void *room_for_statuses(struct mpi_waiting *waiting)
{
    size_t bytes = (size_t)waiting->count * mpi_library_status_bytes();
    if (bytes <= sizeof waiting->room)
        return waiting->room;
    waiting->mapped = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    waiting->mapped_bytes = waiting->mapped != MAP_FAILED ? bytes : 0;
    return waiting->mapped_bytes > 0 ? waiting->mapped : NULL;
}

void *mpi_waiting_statuses(struct mpi_waiting *waiting, void *statuses)
{
    void *room = waiting->first != NULL && waiting->language->is_ignored(statuses) ? room_for_statuses(waiting) : NULL;
    waiting->has_status_each = true;
    waiting->statuses = room != NULL ? room : statuses;
    return waiting->statuses;
}

/* The `number`th status, or NULL: there is none, or the library has learnt in this very call, its first in Fortran, that this is what
 * ignores it. */
static const void *status_at(const struct mpi_waiting *waiting, size_t number)
{
    if (waiting->statuses == NULL || waiting->language->is_ignored(waiting->statuses))
        return NULL;
    return (const char *)waiting->statuses + (waiting->has_status_each ? number * mpi_library_status_bytes() : 0);
}

/* Where each request has a status, an error of the call is one that they tell. */
static void finish(const struct mpi_waiting *waiting, struct mpi_pending *pending, const void *status, int error)
{
    if (error != 0 && waiting->has_status_each && status != NULL)
        error = mpi_library_status_error(status);
    int64_t moved = pending->asked;
    if (error != 0)
        moved = -1;
    else if (status != NULL)
        moved = waiting->language->bytes_read(status, pending->asked);
    mpi_pending_finish(pending, &waiting->call.call, moved);
}

/* Which status is a request's. */
struct finder {
    int completed;
    const int *indices; /* NULL: the statuses are in the order of the requests */
    int first_index, cursor;
};

/* In the module mpi_f08 of MPICH 4.0 indices begin with 0, as they do in C. */
static int first_index(const struct mpi_waiting *waiting, int completed, const int *indices)
{
    for (int i = 0; i < completed; i++)
        if (indices[i] == 0)
            return 0;
    return waiting->language->first_index;
}

static const void *status_of(const struct mpi_waiting *waiting, struct finder *finder, unsigned place)
{
    if (finder->indices == NULL)
        return status_at(waiting, place);
    /* Both are in ascending order as a rule: the search goes on where the last one ended. */
    for (int tried = 0; tried < finder->completed; tried++, finder->cursor++) {
        if (finder->cursor >= finder->completed)
            finder->cursor = 0;
        if (finder->indices[finder->cursor] - finder->first_index == (int)place)
            return status_at(waiting, (size_t)finder->cursor);
    }
    return NULL;
}

static void complete(struct mpi_waiting *waiting, struct finder finder, bool is_all, int error)
{
    bool has_completed = false;
    for (struct mpi_pending *pending = waiting->first, *next; pending != NULL; pending = next) {
        next = pending->next;
        if (is_all || waiting->language->request(waiting->requests, pending->place) != pending->key) {
            finish(waiting, pending, status_of(waiting, &finder, pending->place), error);
            has_completed = true;
        } else {
            mpi_pending_give_back(pending);
        }
    }
    if (has_completed)
        call_lived(&waiting->call.call);
}

void mpi_waiting_completed(struct mpi_waiting *waiting, int error)
{
    complete(waiting, (struct finder){ 0 }, false, error);
}

/* A call that failed may have been told of no room for them. */
static int count_of(const int *completed, const int *indices, int error)
{
    struct peek_pages pages = { 0 };
    if (error == 0)
        return *completed;
    bool is_told = peek_can_read(&pages, completed, sizeof *completed) && *completed > 0 &&
                   peek_can_read(&pages, indices, (size_t)*completed * sizeof *indices);
    return is_told ? *completed : 0;
}

void mpi_waiting_completed_some(struct mpi_waiting *waiting, const int *completed, const int *indices, int error)
{
    int count = count_of(completed, indices, error);
    complete(waiting, (struct finder){ count, indices, first_index(waiting, count, indices), 0 }, false, error);
}

void mpi_waiting_completed_if(struct mpi_waiting *waiting, bool is_complete, int error)
{
    complete(waiting, (struct finder){ 0 }, is_complete, error);
}

void mpi_waiting_close(struct mpi_waiting *waiting)
{
    if (waiting->mapped_bytes > 0)
        syscall(SYS_munmap, waiting->mapped, waiting->mapped_bytes);
    mpi_call_close(&waiting->call);
}
