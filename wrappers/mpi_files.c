#include "mpi_files.h"

#include "mount.h"

enum { PLACES = 512 };

/* Open addressing: a file lies at the first place from its hash on that was free. `gone` keeps the way open to those behind it. */
static struct {
    _Atomic uintptr_t file;
    _Atomic uint32_t mount;
} places[PLACES];
static const uintptr_t never_used = 0, gone = 1, being_filled = 2;

static unsigned place_of(mpi_handle file, unsigned step)
{
    return (unsigned)(((uintptr_t)file * 0x9e3779b97f4a7c15u >> 32) + step) % PLACES;
}

static bool take(unsigned place)
{
    uintptr_t found = atomic_load_explicit(&places[place].file, memory_order_relaxed);
    return (found == never_used || found == gone) && atomic_compare_exchange_strong(&places[place].file, &found, being_filled);
}

/* Returns PLACES if it is not there. */
static unsigned place_with(mpi_handle file)
{
    for (unsigned step = 0; step < PLACES; step++) {
        unsigned place = place_of(file, step);
        uintptr_t found = atomic_load_explicit(&places[place].file, memory_order_acquire);
        if (found == never_used)
            break;
        if (found == (uintptr_t)file)
            return place;
    }
    return PLACES;
}

void mpi_files_enter(mpi_handle file, uint32_t mount)
{
    unsigned place = place_with(file); /* still there if it was closed unseen */
    for (unsigned step = 0; place == PLACES && step < PLACES; step++)
        if (take(place_of(file, step)))
            place = place_of(file, step);
    if (place == PLACES)
        return;
    atomic_store_explicit(&places[place].mount, mount, memory_order_relaxed);
    atomic_store_explicit(&places[place].file, (uintptr_t)file, memory_order_release);
}

uint32_t mpi_files_mount(mpi_handle file)
{
    unsigned place = place_with(file);
    return place < PLACES ? atomic_load_explicit(&places[place].mount, memory_order_relaxed) : MOUNT_OTHER;
}

uint32_t mpi_files_leave(mpi_handle file)
{
    unsigned place = place_with(file);
    if (place == PLACES)
        return MOUNT_OTHER;
    uint32_t mount = atomic_load_explicit(&places[place].mount, memory_order_relaxed);
    atomic_store_explicit(&places[place].file, gone, memory_order_release);
    return mount;
}
