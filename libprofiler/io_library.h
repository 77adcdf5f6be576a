/* Calls of libraries for files that lie above MPI-IO and POSIX (schema/libraries.def): counted by function, with the time that they take and what
 * of it passes in calls on files and in MPI. For any thread at any time; errno stays as it is. */
#ifndef SLICEWISE_IO_LIBRARY_H
#define SLICEWISE_IO_LIBRARY_H

#include "call.h"
#include "guard.h"
#include "symbol.h"

/* Whether they are counted, as far as the settings say: until they are read they are. */
extern int io_library_is_on __attribute__((visibility("hidden")));
void io_library_choose(bool is_on);

/* Where calls of a symbol lead that come from one object, of those that were opened after the start: noted once and for good. */
struct reach {
    struct reach *next, *next_of_library;
    struct symbol_range callers;
    _Atomic uint32_t opened; /* how often a library had been opened: any later one may lie where another one was */
    void *address;
};

/* Counted when libraries are opened. */
void io_library_opened(void);

/* What a wrapper keeps of its call. */
struct library_call {
    uint16_t library, function; /* enum io_library, enum library_function; the second is the wrapper's to tell */
    bool is_counted;
    uint64_t start_tick, file_ns, mpi_ns;
};

/* Begins it, in a wrapper whose frame and return address these are. A call within another one of the same library is not counted. Returns the function
 * that a call from `caller` would have reached without us. Two libraries of a process may each have brought an HDF5 of their own: then it depends on
 * the caller. `real`: noted there if it does not; `reached`: the answers so far. */
void *io_library_begin(struct library_call *call, void **real, struct reach *_Atomic *reached, const char *name, const void *frame,
                       const void *returns, const void *caller);

/* After the real function. */
void io_library_end(const struct library_call *call);

#endif
