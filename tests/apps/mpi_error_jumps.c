/* An error handler that never returns to MPI: it jumps out of MPI_File_open, again and again, and the calls after it are calls like any other.
 * mpi_error_jumps FOLDER */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 5, ELEMENTS = 100 };

static jmp_buf before;

static void handle(MPI_File *file, int *error, ...)
{
    (void)file;
    (void)error;
    longjmp(before, 1);
}

/* Deeper in the stack than where the jump left MPI. */
__attribute__((noinline)) static void transfer(const char *path, int depth)
{
    static int numbers[ELEMENTS];
    volatile char room[256];
    MPI_File file;
    for (unsigned i = 0; i < sizeof room; i++)
        room[i] = (char)depth;
    if (depth > 0) {
        transfer(path, depth - 1);
        room[1] = room[0];
        return;
    }
    if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS ||
        MPI_File_write_at(file, 0, numbers, ELEMENTS, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS || MPI_File_close(&file) != MPI_SUCCESS)
        exit(1);
}

int main(int count, char **argument)
{
    char missing[1000], path[1000];
    MPI_Errhandler handler;
    MPI_File file;
    volatile int jumps = 0;
    MPI_Init(&count, &argument);
    snprintf(missing, sizeof missing, "%s/no such folder/file", argument[1]);
    snprintf(path, sizeof path, "%s/file", argument[1]);
    MPI_File_create_errhandler(handle, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    for (volatile int round = 0; round < ROUNDS; round++) {
        if (setjmp(before) == 0)
            MPI_File_open(MPI_COMM_SELF, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
        else
            jumps++;
        transfer(path, 0);
    }
    MPI_Finalize();
    return jumps == ROUNDS ? 0 : 2;
}
