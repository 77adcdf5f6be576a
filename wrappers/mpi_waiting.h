/* A call that may complete requests, of I/O among them, in C or Fortran. Used as mpi_call.h's calls are: `mpi_waiting_begin`,
 * `mpi_waiting_status` or `mpi_waiting_statuses` for what to pass on in place of the caller's own, the real function, `mpi_waiting_end`, one
 * of the `mpi_waiting_complete...`, `mpi_waiting_close`. What the application gets to see is what MPI gave it. */
#ifndef SLICEWISE_MPI_WAITING_H
#define SLICEWISE_MPI_WAITING_H

#include "mpi_call.h"
#include "mpi_pending.h"

/* What differs between the languages. */
struct mpi_language {
    uint64_t (*request)(const void *requests, unsigned place);
    bool (*is_ignored)(const void *status);
    int64_t (*bytes_read)(const void *status, int64_t asked);
    int first_index; /* how its arrays begin */
};
extern const struct mpi_language mpi_in_c, mpi_in_fortran;

struct mpi_waiting {
    struct mpi_call call;
    const struct mpi_language *language;
    const void *requests;
    int count;
    struct mpi_pending *first; /* the requests that are I/O, claimed, in the order of the array; NULL: none, or not counted */
    void *statuses;            /* as passed on; one for all, or one each */
    bool has_status_each;
    void *mapped;              /* room for statuses where ours does not suffice */
    size_t mapped_bytes;
    uint64_t room[192];
};

/* Whether a wrapper may pass its call on at once: nothing but communication is under way, and the real function is known. That is all that the I/O
 * costs communication, if the rest is out of line. */
#define MPI_ONLY_COMMUNICATES(name) (__builtin_expect(real_##name != NULL, 1) && !mpi_pending_any())
#define OUT_OF_LINE __attribute__((noinline))

/* A shape's body (mpi_call.h): `many` requests of `which`, what a caller's status becomes (`gives`), what `completes` them. `result`, `own`, `got` and
 * `back`: what differs between the languages. */
#define WAITING_BODY(result, shape, own, language, many, which, gives, got, completes, back) \
    SHAPE(static OUT_OF_LINE, result, shape) \
    { \
        own; \
        struct mpi_waiting waiting; \
        mpi_waiting_begin(&waiting, &language, operation, many, which); \
        gives; \
        got real(shape##_ARGUMENTS); \
        mpi_waiting_end(&waiting); \
        completes; \
        mpi_waiting_close(&waiting); \
        back; \
    }
#define GIVES_STATUS status = mpi_waiting_status(&waiting, status)
#define GIVES_STATUSES statuses = mpi_waiting_statuses(&waiting, statuses)
#define COMPLETES(how, ...) mpi_waiting_completed##how(&waiting, __VA_ARGS__)
#define CLASS_OF_MPI_Wait MPI_CLASS_wait
#define CLASS_OF_MPI_Test MPI_CLASS_test
#define CLASS_OF_MPI_Request_free MPI_CLASS_test

void mpi_waiting_claim(struct mpi_waiting *waiting, const struct mpi_language *language, int count, const void *requests);

/* In the frame of the wrapper, as mpi_call_begin. */
static inline __attribute__((always_inline)) void mpi_waiting_begin(struct mpi_waiting *waiting, const struct mpi_language *language,
                                                                    enum operation operation, int count, const void *requests)
{
    waiting->call = mpi_call_begin_as(operation, operation == OP_MPI_Wait ? MPI_CLASS_wait : MPI_CLASS_test);
    mpi_waiting_claim(waiting, language, count, requests);
}

/* A caller that ignores what we need to know gets a status, or statuses, of ours to fill. */
void *mpi_waiting_status(struct mpi_waiting *waiting, void *status);
void *mpi_waiting_statuses(struct mpi_waiting *waiting, void *statuses);

static inline void mpi_waiting_end(struct mpi_waiting *waiting)
{
    mpi_call_end(&waiting->call);
}

/* Of those in the array some, or all, or none were completed: where the request is another one now. `error` is what the call returned. */
void mpi_waiting_completed(struct mpi_waiting *waiting, int error);
/* It has filled as many statuses as it completed requests, and told their places. */
void mpi_waiting_completed_some(struct mpi_waiting *waiting, const int *completed, const int *indices, int error);
/* It tells that a request is complete, and leaves it as it is. */
void mpi_waiting_completed_if(struct mpi_waiting *waiting, bool is_complete, int error);

void mpi_waiting_close(struct mpi_waiting *waiting);

#endif
