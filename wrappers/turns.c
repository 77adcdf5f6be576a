/* Where turns at I/O are asked for, the wrappers' part of what the library that takes them is lent (waits.h). */
#include "interpose.h"
#include "mpi_library.h"
#include "waits.h"

static struct turn_profiler lent;

static void gate_mpi(void *(*gate_of)(const char *name, void *found))
{
    mpi_library_gate = gate_of;
}

/* After the engine's own constructor, which has read the settings. */
__attribute__((constructor)) static void begin(void)
{
    if (!waits_are_wanted())
        return;
    lent.gate = entry_gate;
    lent.gate_mpi = gate_mpi;
    lent.mpi_find = mpi_library_find;
    lent.mpi_constants = mpi_library_constants;
    lent.mpi_place = mpi_library_place;
    lent.mpi_bytes_asked = mpi_library_bytes_asked;
    lent.mpi_request = mpi_library_request;
    lent.mpi_request_in_fortran = mpi_library_request_in_fortran;
    lent.mpi_file = mpi_library_file;
    lent.mpi_communicator = mpi_library_communicator;
    lent.mpi_datatype = mpi_library_datatype;
    waits_open(&lent);
}
