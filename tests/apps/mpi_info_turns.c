/* Takes a turn of its own of which an MPI_Info tells, with names that nobody knows, and one that is too long. */
#include <mpi.h>

#include "slicewise/coordinate.h"

int main(int argc, char **argv)
{
    MPI_Info info;
    static char longest[200];
    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "16777216");
    MPI_Info_set(info, "bytes", "100");
    MPI_Info_set(info, "rounds", "8");
    MPI_Info_set(info, "files", "4");
    memset(longest, 'x', sizeof longest - 1);
    MPI_Info_set(info, "colour", longest);
    MPI_Info_set(info, "targets", "0 2");
    MPI_Info_set(info, "period", "30");
    int told = slicewise_coordinate_prepare_info(info);
    MPI_Info_free(&info);
    slicewise_coordinate_inform();
    slicewise_coordinate_wait();
    slicewise_coordinate_complete();
    MPI_Finalize();
    return told;
}
