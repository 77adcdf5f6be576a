#include "mpi_call.h"

#include "mount.h"
#include "mpi_files.h"
#include "mpi_pending.h"
#include "peek.h"

#include <limits.h>
#include <string.h>

bool mpi_call_wants_status(const struct mpi_call *call)
{
    return call->is_counted && operation_kind[call->call.operation] == KIND_read;
}

void mpi_call_moved(const struct mpi_call *call, mpi_handle file, mpi_count count, mpi_handle datatype, const void *status, int error)
{
    if (!call->is_counted)
        return;
    int64_t moved = error != 0 ? -1 : mpi_library_bytes_asked(count, datatype);
    if (moved > 0 && status != NULL && mpi_call_wants_status(call))
        moved = mpi_library_bytes_read(status, moved);
    call_mpi_moved(&call->call, mpi_files_mount(file), moved);
}

void mpi_call_touched(const struct mpi_call *call, mpi_handle file, int error)
{
    if (call->is_counted)
        call_mpi_touched(&call->call, mpi_files_mount(file), error != 0);
}

/* A driver's prefix ends at a colon before any slash. */
static const char *without_driver(const char *name)
{
    size_t length = strcspn(name, ":/");
    return name[length] == ':' ? name + length + 1 : name;
}

/* What a call that failed was given for a name may be anything. */
static uint32_t mount_of(const char *name, int error)
{
    char copy[PATH_MAX];
    if (error == 0)
        return engine_mount_of_path(without_driver(name));
    return peek_text(name, copy, sizeof copy) >= 0 ? engine_mount_of_path(without_driver(copy)) : MOUNT_OTHER;
}

void mpi_call_opened(const struct mpi_call *call, const char *name, mpi_handle file, int error)
{
    if (!call->is_counted)
        return;
    uint32_t mount = mount_of(name, error);
    if (error == 0)
        mpi_files_enter(file, mount);
    call_mpi_touched(&call->call, mount, error != 0);
}

void mpi_call_named(const struct mpi_call *call, const char *name, int error)
{
    if (call->is_counted)
        call_mpi_touched(&call->call, mount_of(name, error), error != 0);
}

void mpi_call_began(const struct mpi_call *call, mpi_handle file, uint64_t key, mpi_count count, mpi_handle datatype, int error)
{
    if (!call->is_counted)
        return;
    struct mpi_pending begun = { .call = call->call, .mount = mpi_files_mount(file), .key = key };
    if (error != 0) {
        call_mpi_moved(&begun.call, begun.mount, -1);
        return;
    }
    begun.asked = mpi_library_bytes_asked(count, datatype);
    mpi_pending_enter(&begun);
}

void mpi_call_completed_split(const struct mpi_call *call, mpi_handle file, const void *status, int error)
{
    struct mpi_pending *pending = call->is_counted ? mpi_pending_claim(mpi_pending_key_of_file(file)) : NULL;
    if (pending == NULL)
        return;
    int64_t moved = error != 0 ? -1 : pending->asked;
    if (moved > 0 && status != NULL && mpi_call_wants_status(call))
        moved = mpi_library_bytes_read(status, moved);
    mpi_pending_finish(pending, &call->call, moved);
}

void mpi_call_closed(const struct mpi_call *call, uint32_t mount, int error)
{
    if (call->is_counted)
        call_mpi_touched(&call->call, mount, error != 0);
}

void mpi_call_lived(const struct mpi_call *call)
{
    int rank, ranks;
    if (!call->is_counted)
        return;
    if (call->call.operation != OP_MPI_Finalize && mpi_library_rank(&rank, &ranks))
        engine_set_rank(rank, ranks);
    if (call->call.operation == OP_MPI_Finalize)
        mpi_pending_finish_all();
    call_lived(&call->call);
}
