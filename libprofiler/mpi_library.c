#include "mpi_library.h"

#include "symbol.h"

#include <pthread.h>
#pragma weak pthread_once /* before 2.34 a program without threads lacks it */
#include <stdlib.h>
#include <string.h>

enum { VERSION_TEXT_BYTES = 8192 /* the longest MPI_MAX_LIBRARY_VERSION_STRING that is in use, MPICH's */ };

/* What a Fortran program passes for a status, or statuses, that it ignores; the last two are those of MPICH's module mpi_f08. */
static const char *const fortran_ignored_names[] = { "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE", "MPI_F08_STATUS_IGNORE",
                                                     "MPI_F08_STATUSES_IGNORE" };
enum { FORTRAN_IGNORED = sizeof fortran_ignored_names / sizeof *fortran_ignored_names };

static struct {
    bool has_constants; /* the next six are known */
    mpi_handle comm_world, byte;
    const void *status_ignore;
    size_t request_bytes, status_bytes;
    unsigned error_in_status; /* its place among a status's ints */
    fortran_int *const *fortran_ignored[FORTRAN_IGNORED]; /* set when Fortran is first used */
    int (*initialized)(int *);
    int (*comm_rank)(mpi_handle, int *);
    int (*comm_size)(mpi_handle, int *);
    int (*comm_test_inter)(mpi_handle, int *);
    int (*type_size)(mpi_handle, int *);
    int (*type_size_x)(mpi_handle, mpi_count *);
    int (*get_count)(const void *, mpi_handle, int *);
    int (*get_elements_x)(const void *, mpi_handle, mpi_count *);
    mpi_handle (*file_f2c)(fortran_int);
    mpi_handle (*comm_f2c)(fortran_int);
    mpi_handle (*type_f2c)(fortran_int);
    mpi_handle (*request_f2c)(fortran_int);
    int (*status_f2c)(const fortran_int *, union mpi_status *);
} library;

/* From the program on, not from us on: a program may hold the library's variables itself (copy relocations). */
void *mpi_library_find(const char *name)
{
    return symbol_find(name, false);
}

/* The application binary interface that MPI 5 defines, whichever MPI's library it is. Libraries with an interface of their own say -1, if they
 * have the function. */
static bool has_standard_interface(void)
{
    int (*get_version)(int *, int *) = mpi_library_find("PMPI_Abi_get_version");
    int major = -1, minor = -1;
    return get_version != NULL && get_version(&major, &minor) == 0 && major > 0;
}

/* MPICH and its kin have the same constants by agreement (the MPICH ABI compatibility initiative). */
static bool is_mpich(void)
{
    static const char *const names[] = { "MPICH", "MVAPICH", "Intel(R) MPI" };
    int (*get_version)(char *, int *) = mpi_library_find("PMPI_Get_library_version");
    char text[VERSION_TEXT_BYTES] = "";
    int length;
    if (get_version == NULL || get_version(text, &length) != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(text, names[i]) != NULL)
            return true;
    return false;
}

static void learn_constants(void)
{
    if (has_standard_interface()) {
        library.comm_world = (mpi_handle)0x101;
        library.byte = (mpi_handle)0x247;
        library.status_ignore = NULL;
        library.request_bytes = sizeof(void *);
        library.status_bytes = 8 * sizeof(int);
        library.error_in_status = 2;
        library.has_constants = true;
        return;
    }
    library.comm_world = mpi_library_find("ompi_mpi_comm_world");
    library.byte = mpi_library_find("ompi_mpi_byte");
    if (library.comm_world != NULL && library.byte != NULL) {
        library.status_ignore = NULL;
        library.request_bytes = sizeof(void *);
        library.status_bytes = 4 * sizeof(int) + sizeof(size_t);
        library.error_in_status = 2;
        library.has_constants = true;
    } else if (is_mpich()) {
        library.comm_world = (mpi_handle)0x44000000;
        library.byte = (mpi_handle)0x4c00010d;
        library.status_ignore = (const void *)1;
        library.request_bytes = sizeof(int);
        library.status_bytes = 5 * sizeof(int);
        library.error_in_status = 4;
        library.has_constants = true;
    }
}

/* MPI 5's standard interface has new names for the functions that turn Fortran's handles into C's. */
static void *find_either(const char *name, const char *newer)
{
    void *found = mpi_library_find(name);
    return found != NULL ? found : mpi_library_find(newer);
}

/* By their PMPI names, so that other tools do not see our questions as the program's. */
static void learn(void)
{
    learn_constants();
    for (size_t i = 0; i < FORTRAN_IGNORED; i++)
        library.fortran_ignored[i] = mpi_library_find(fortran_ignored_names[i]);
    library.initialized = mpi_library_find("PMPI_Initialized");
    library.comm_rank = mpi_library_find("PMPI_Comm_rank");
    library.comm_size = mpi_library_find("PMPI_Comm_size");
    library.comm_test_inter = mpi_library_find("PMPI_Comm_test_inter");
    library.type_size = mpi_library_find("PMPI_Type_size");
    library.type_size_x = mpi_library_find("PMPI_Type_size_x");
    library.get_count = mpi_library_find("PMPI_Get_count");
    library.get_elements_x = mpi_library_find("PMPI_Get_elements_x");
    library.file_f2c = find_either("PMPI_File_f2c", "PMPI_File_fromint");
    library.comm_f2c = find_either("PMPI_Comm_f2c", "PMPI_Comm_fromint");
    library.type_f2c = find_either("PMPI_Type_f2c", "PMPI_Type_fromint");
    library.request_f2c = find_either("PMPI_Request_f2c", "PMPI_Request_fromint");
    library.status_f2c = mpi_library_find("PMPI_Status_f2c");
}

static void learn_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static bool is_learnt;
    if (pthread_once != NULL)
        pthread_once(&once, learn);
    else if (!is_learnt) { /* there is one thread alone */
        learn();
        is_learnt = true;
    }
}

static _Atomic bool has_int_counts_alone;
void *(*mpi_library_gate)(const char *name, void *found);

/* A program that asks whether MPI has a function with large counts (mpi4py does) finds ours, and must be served by the one with an int. */
void *mpi_library_look_up(void **real, const char *name, const void *caller)
{
    char name_of_int[64] = "";
    size_t length = strlen(name);
    void *found = symbol_real_near(name, caller).address;
    if (found == NULL && length < sizeof name_of_int && strcmp(name + length - 2, "_c") == 0) {
        memcpy(name_of_int, name, length - 2);
        found = symbol_real_near(name_of_int, caller).address;
        atomic_store(&has_int_counts_alone, found != NULL);
    }
    if (found != NULL && mpi_library_gate != NULL)
        found = mpi_library_gate(name, found);
    return *real = found != NULL ? found : engine_real(name);
}

static int refuse_count(void)
{
    return 2; /* MPI_ERR_COUNT, in every MPI of note */
}

void *mpi_library_for_count(void *real, mpi_count count)
{
    return count != (int)count && atomic_load_explicit(&has_int_counts_alone, memory_order_relaxed) ? (void *)refuse_count : real;
}

bool mpi_library_rank(int *rank, int *ranks)
{
    int is_initialized = 0;
    learn_once();
    return library.has_constants && library.initialized != NULL && library.initialized(&is_initialized) == 0 && is_initialized &&
           library.comm_rank(library.comm_world, rank) == 0 && library.comm_size(library.comm_world, ranks) == 0;
}

bool mpi_library_place(mpi_handle communicator, int *rank, int *ranks)
{
    learn_once();
    return library.has_constants && library.comm_rank(communicator, rank) == 0 && library.comm_size(communicator, ranks) == 0;
}

int mpi_library_processes(mpi_handle communicator)
{
    int is_between_groups = 1, processes = 0;
    learn_once();
    if (library.comm_test_inter == NULL || library.comm_test_inter(communicator, &is_between_groups) != 0 || is_between_groups)
        return 0;
    return library.comm_size != NULL && library.comm_size(communicator, &processes) == 0 ? processes : 0;
}

bool mpi_library_constants(mpi_handle *byte, const void **status_ignore)
{
    learn_once();
    *byte = library.byte;
    *status_ignore = library.status_ignore;
    return library.has_constants;
}

int64_t mpi_library_bytes_asked(mpi_count count, mpi_handle datatype)
{
    mpi_count size = 0;
    int small_size;
    learn_once();
    if (count <= 0) /* of nothing even MPI_DATATYPE_NULL may be asked for */
        return 0;
    if (library.type_size_x != NULL && library.type_size_x(datatype, &size) == 0 && size >= 0)
        return count * size;
    if (library.type_size != NULL && library.type_size(datatype, &small_size) == 0 && small_size >= 0)
        return count * small_size;
    return 0;
}

int64_t mpi_library_bytes_read(const void *status, int64_t asked)
{
    mpi_count bytes = -1;
    int small_count = -1;
    learn_once();
    if (!library.has_constants || mpi_library_is_ignored(status))
        return asked;
    if (library.get_elements_x != NULL) {
        if (library.get_elements_x(status, library.byte, &bytes) != 0)
            bytes = -1;
    } else if (library.get_count(status, library.byte, &small_count) == 0) {
        bytes = small_count;
    }
    return bytes >= 0 && bytes <= asked ? bytes : asked;
}

bool mpi_library_is_ignored(const void *status)
{
    learn_once();
    return library.has_constants && status == library.status_ignore;
}

bool mpi_library_is_ignored_in_fortran(const fortran_int *status)
{
    learn_once();
    for (size_t i = 0; i < FORTRAN_IGNORED; i++)
        if (library.fortran_ignored[i] != NULL && status == *library.fortran_ignored[i])
            return true;
    return false;
}

uint64_t mpi_library_request(const void *requests, unsigned place)
{
    learn_once();
    if (library.request_bytes == sizeof(uint32_t))
        return ((const uint32_t *)requests)[place];
    return library.request_bytes == sizeof(uint64_t) ? ((const uint64_t *)requests)[place] : 0;
}

uint64_t mpi_library_request_in_fortran(const void *requests, unsigned place)
{
    learn_once();
    if (library.request_bytes == sizeof(fortran_int))
        return ((const uint32_t *)requests)[place];
    return library.has_constants && library.request_f2c != NULL ? (uintptr_t)library.request_f2c(((const fortran_int *)requests)[place]) : 0;
}

size_t mpi_library_status_bytes(void)
{
    learn_once();
    return library.status_bytes;
}

int mpi_library_status_error(const void *status)
{
    return ((const int *)status)[library.error_in_status];
}

mpi_handle mpi_library_file(fortran_int file)
{
    learn_once();
    return library.file_f2c != NULL ? library.file_f2c(file) : NULL;
}

/* Where there is no function for it, the numbers are the same (MPICH has macros). */
mpi_handle mpi_library_communicator(fortran_int communicator)
{
    learn_once();
    return library.comm_f2c != NULL ? library.comm_f2c(communicator) : (mpi_handle)(uintptr_t)(uint32_t)communicator;
}

mpi_handle mpi_library_datatype(fortran_int datatype)
{
    learn_once();
    return library.type_f2c != NULL ? library.type_f2c(datatype) : (mpi_handle)(uintptr_t)(uint32_t)datatype;
}

bool mpi_library_status(const fortran_int *status, union mpi_status *in_c)
{
    learn_once();
    return library.status_f2c != NULL && library.status_f2c(status, in_c) == 0;
}
