/* Where turns at I/O are asked for, the wrappers' part of what the library that takes them gets (waits.h). */
#include "interpose.h"
#include "mpi_library.h"
#include "waits.h"

static struct turn_profiler provided;

static void gate_mpi(void *(*gate_of)(const char *name, void *found))
{
    mpi_library_gate = gate_of;
}

/* After the engine's own constructor, which has read the settings. */
__attribute__((constructor)) static void begin(void)
{
    if (!waits_are_wanted())
        return;
    provided.gate = entry_gate;
    provided.gate_mpi = gate_mpi;
    provided.mpi_find = mpi_library_find;
    provided.mpi_constants = mpi_library_constants;
    provided.mpi_place = mpi_library_place;
    provided.mpi_bytes_asked = mpi_library_bytes_asked;
    provided.mpi_request = mpi_library_request;
    provided.mpi_request_in_fortran = mpi_library_request_in_fortran;
    provided.mpi_file = mpi_library_file;
    provided.mpi_communicator = mpi_library_communicator;
    provided.mpi_datatype = mpi_library_datatype;
    waits_open(&provided);
}
