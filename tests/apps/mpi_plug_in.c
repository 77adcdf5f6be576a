/* A shared library that brings MPI along, for programs that load it out of the global scope, as Python loads its extensions. */
#include <mpi.h>
#include <stddef.h>

int write_numbers(const char *name);

int write_numbers(const char *name)
{
    static int numbers[1000];
    MPI_File file;
    MPI_Init(NULL, NULL);
    int error = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    if (error == MPI_SUCCESS)
        error = MPI_File_write(file, numbers, 1000, MPI_INT, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS)
        error = MPI_File_close(&file);
    MPI_Finalize();
    return error == MPI_SUCCESS ? 0 : 1;
}
