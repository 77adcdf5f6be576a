/* The C half of mpi_handles.f90. */
#include <mpi.h>

void write_in_c(MPI_Fint file);
MPI_Fint open_in_c(const char *name);

void write_in_c(MPI_Fint file)
{
    int numbers[100] = { 0 };
    MPI_File_write(MPI_File_f2c(file), numbers, 100, MPI_INT, MPI_STATUS_IGNORE);
}

MPI_Fint open_in_c(const char *name)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    return MPI_File_c2f(file);
}
