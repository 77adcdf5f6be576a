#include "mpi_files.h"

#include "key_table.h"
#include "mount.h"

enum { FILES_OPEN_MAX = 1024 };

static struct key_table table = KEY_TABLE_OF(FILES_OPEN_MAX, uint32_t);

static _Atomic uint32_t *at(unsigned place)
{
    return key_table_entry(&table, place);
}

void mpi_files_enter(mpi_handle file, uint32_t mount)
{
    unsigned place = key_table_take(&table, (uintptr_t)file); /* still there if it was closed unseen */
    if (place == KEY_TABLE_NONE)
        place = key_table_insert(&table, (uintptr_t)file);
    if (place == KEY_TABLE_NONE)
        return;
    atomic_store_explicit(at(place), mount, memory_order_relaxed);
    key_table_publish(&table, place, (uintptr_t)file);
}

uint32_t mpi_files_mount(mpi_handle file)
{
    unsigned place = key_table_find(&table, (uintptr_t)file);
    return place != KEY_TABLE_NONE ? atomic_load_explicit(at(place), memory_order_relaxed) : MOUNT_OTHER;
}

uint32_t mpi_files_leave(mpi_handle file)
{
    unsigned place = key_table_take(&table, (uintptr_t)file);
    if (place == KEY_TABLE_NONE)
        return MOUNT_OTHER;
    uint32_t mount = atomic_load_explicit(at(place), memory_order_relaxed);
    key_table_remove(&table, place, (uintptr_t)file);
    return mount;
}
