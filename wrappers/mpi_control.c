/* MPI_Pcontrol: levels that programs mark regions with. 1 with a name begins it and -1 with the same name ends it, as IPM has it; and so do other levels
 * above and below 0, by their number. What 0, 1 and 2 mean by themselves (MPI's standard) is nothing here. For any thread that may call MPI. */
#include "mpi_call.h"
#include "mpi_fortran.h"
#include "peek.h"
#include "regions.h"

/* A text, if that is one, of which there may be none. */
static void look_at_name(int level, uintptr_t given, char name[REGION_NAME_BYTES])
{
    long length = level == 1 || level == -1 ? peek_text((const char *)given, name, REGION_NAME_BYTES) : 0;
    for (long i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            length = 0;
    name[length > 0 ? length : 0] = '\0';
}

/* After the real call, which has read what it was given. */
static void mark(int level, uintptr_t given)
{
    if (atomic_load_explicit(engine_switch, memory_order_relaxed) == ENGINE_OFF)
        return;
    struct call call = call_begin(OP_MPI_Pcontrol);
    char name[REGION_NAME_BYTES];
    call_end(&call);
    look_at_name(level, given, name);
    call_lived(&call);
    if (level != 0)
        regions_mark_level(level, name);
    call_close(&call);
}

/* Variadic, of which a few words are passed on: MPI itself takes none of them. */
INTERPOSE_LIBRARY(int, MPI_Pcontrol, (int level, uintptr_t first, uintptr_t second, uintptr_t third, uintptr_t fourth))
{
    int (*real)(int, ...);
    memcpy(&real, &(void *){ (void *)MPI_REAL(MPI_Pcontrol) }, sizeof real);
    bool is_outermost = mpi_enter();
    int error = real(level, first, second, third, fourth);
    if (is_outermost) {
        thread_state.mpi_frame = NULL;
        mark(level, first);
    }
    return error;
}

typedef uintptr_t fortran_control(const fortran_int *level, uintptr_t first, uintptr_t second);

static uintptr_t control(fortran_control *real, const fortran_int *level, uintptr_t first, uintptr_t second)
{
    bool is_outermost = mpi_enter();
    uintptr_t result = real(level, first, second);
    if (is_outermost) {
        thread_state.mpi_frame = NULL;
        mark(*level, first);
    }
    return result;
}

#define CONTROL(operation, symbol) \
    INTERPOSE_LIBRARY(uintptr_t, symbol, (const fortran_int *level, uintptr_t first, uintptr_t second)) \
    { \
        return control(MPI_REAL(symbol), level, first, second); \
    }
FORTRAN(CONTROL, MPI_Pcontrol, mpi_pcontrol, MPI_PCONTROL)
