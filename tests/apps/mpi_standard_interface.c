/* A program and, compiled with IS_LIBRARY, its MPI: one that has the binary interface which MPI 5 defines and calls itself MPICH, as MPICH 5 does.
 * The MPI ends the program where it is handed a handle that is not of this interface, as the real one does. No mpi.h is needed. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COMM_WORLD ((void *)0x101)
#define BYTE ((void *)0x247)

enum { RANK = 3, RANKS = 5, READS = 2, FIRST_BYTES = 100, SECOND_BYTES = 200, ASKED = 4096 };

struct status {
    int source, tag, error, internal[5];
};

int MPI_Init(int *count, char ***arguments);
int MPI_Finalize(void);
int MPI_Send(const void *buffer, int count, void *type, int peer, int tag, void *communicator);
int MPI_File_open(void *communicator, const char *name, int mode, void *info, void **file);
int MPI_File_iread(void *file, void *buffer, int count, void *type, void **request);
int MPI_Waitall(int count, void **requests, struct status *statuses);

#ifdef IS_LIBRARY

static int is_initialized, reads;

static void need(int holds)
{
    if (!holds)
        abort();
}

int MPI_Init(int *count, char ***arguments)
{
    (void)count, (void)arguments;
    is_initialized = 1;
    return 0;
}

int MPI_Finalize(void)
{
    return 0;
}

int MPI_Send(const void *buffer, int count, void *type, int peer, int tag, void *communicator)
{
    (void)buffer, (void)count, (void)peer, (void)tag;
    need(type == BYTE && communicator == COMM_WORLD);
    return 0;
}

int MPI_File_open(void *communicator, const char *name, int mode, void *info, void **file)
{
    (void)name, (void)mode, (void)info;
    need(communicator == COMM_WORLD);
    *file = &reads;
    return 0;
}

/* Requests differ in their upper halves alone. */
int MPI_File_iread(void *file, void *buffer, int count, void *type, void **request)
{
    (void)file, (void)buffer, (void)count;
    need(type == BYTE);
    *request = (void *)(((uintptr_t)++reads << 32) + 1);
    return 0;
}

int MPI_Waitall(int count, void **requests, struct status *statuses)
{
    static const int bytes[READS] = { FIRST_BYTES, SECOND_BYTES };
    for (int i = 0; i < count; i++) {
        requests[i] = (void *)0x180; /* MPI_REQUEST_NULL */
        if (statuses != NULL)
            statuses[i] = (struct status){ .internal = { bytes[i] } };
    }
    return 0;
}

int PMPI_Abi_get_version(int *major, int *minor)
{
    *major = 1;
    return *minor = 0;
}

int PMPI_Get_library_version(char *text, int *length)
{
    strcpy(text, "MPICH Version: 5");
    *length = (int)strlen(text);
    return 0;
}

int PMPI_Initialized(int *is)
{
    *is = is_initialized;
    return 0;
}

int PMPI_Comm_rank(void *communicator, int *rank)
{
    need(communicator == COMM_WORLD);
    *rank = RANK;
    return 0;
}

int PMPI_Comm_size(void *communicator, int *ranks)
{
    need(communicator == COMM_WORLD);
    *ranks = RANKS;
    return 0;
}

int PMPI_Type_size(void *type, int *size)
{
    need(type == BYTE);
    *size = 1;
    return 0;
}

int PMPI_Get_elements_x(const struct status *status, void *type, int64_t *count)
{
    need(type == BYTE);
    *count = status->internal[0];
    return 0;
}

#else

int main(int count, char **arguments)
{
    void *file, *requests[READS];
    static char buffer[READS][ASKED];
    MPI_Init(&count, &arguments);
    MPI_Send(buffer, 7, BYTE, 0, 0, COMM_WORLD);
    MPI_File_open(COMM_WORLD, arguments[1], 0, NULL, &file);
    for (int i = 0; i < READS; i++)
        MPI_File_iread(file, buffer[i], ASKED, BYTE, &requests[i]);
    MPI_Waitall(READS, requests, NULL);
    return MPI_Finalize();
}

#endif
