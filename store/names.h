/* The lists of schema/ as C names. Owns no data; included by everything. */
#ifndef SLICEWISE_NAMES_H
#define SLICEWISE_NAMES_H

#include "size_bins.inc"

#include <stdint.h>

enum {
#define JOB_NAME(most_bytes, plain) JOB_NAME_BYTES = (most_bytes) + 1, /* with the 0 at its end */
#include "contract.def"
};
enum layer {
#define LAYER(name, part, meaning) LAYER_##name,
#include "enums.def"
    LAYERS,
};
enum call_kind {
#define CALL_KIND(name, meaning) KIND_##name,
#include "enums.def"
};
enum object {
#define OBJECT(name, meaning) OBJECT_##name,
#include "enums.def"
};
enum ending {
#define ENDING(name, meaning) ENDING_##name,
#include "enums.def"
};
enum place {
#define PLACE(name, meaning) PLACE_##name,
#include "enums.def"
};
enum clock_source {
#define CLOCK(name, meaning) CLOCK_SOURCE_##name,
#include "enums.def"
};
enum reason {
#define REASON(name, meaning) REASON_##name,
#include "enums.def"
};
enum device_kind {
#define DEVICE(name, meaning) DEVICE_##name,
#include "enums.def"
};
enum mpi_class {
#define MPI_CLASS(name, meaning) MPI_CLASS_##name,
#include "enums.def"
    MPI_CLASSES,
};
enum thread_wait {
#define THREAD_WAIT(name, meaning) THREAD_WAIT_##name,
#include "enums.def"
    THREAD_WAITS,
};
enum accelerated {
#define ACCELERATED(name, meaning) ACCELERATED_##name,
#include "enums.def"
    ACCELERATED_KINDS,
};
enum activity {
#define ACTIVITY(name, meaning) ACTIVITY_##name,
#include "enums.def"
};
enum names {
#define NAMES(name, meaning) NAMES_##name,
#include "enums.def"
};
enum mpi_scope {
#define MPI_SCOPE(name, meaning) MPI_SCOPE_##name,
#include "enums.def"
};
enum job_note {
#define JOB_NOTE(name, meaning) JOB_NOTE_##name,
#include "enums.def"
    JOB_NOTES,
};
enum problem {
#define PROBLEM(name, said, meaning, advice) PROBLEM_##name,
#include "problems.def"
    PROBLEMS,
};
enum io_library {
#define LIBRARY(name, meaning) LIBRARY_##name,
#include "libraries.def"
    IO_LIBRARIES,
};
enum library_function {
#define LIBRARY_FUNCTION(library, name) FUNCTION_##name,
#include "libraries.def"
    LIBRARY_FUNCTIONS,
};
enum operation {
#define OPERATION(name, layer, kind, symbols) OP_##name,
#include "operations.def"
    OPERATIONS,
};
enum counter {
#define COUNTER(name, unit, merge, meaning) COUNTER_##name,
#define BINS(name, bins, unit, merge, meaning, edges)
#include "counters.def"
    COUNTERS,
};
/* Where each row of bins begins in `counts.bin`. */
enum bins {
#define COUNTER(name, unit, merge, meaning)
#define BINS(name, bins, unit, merge, meaning, edges) BINS_##name, BINS_##name##_last = BINS_##name + (bins) - 1,
#include "counters.def"
    ALL_BINS,
};

/* Tables, and each column's place within its table: row[mounts_object]. */
enum table {
#define TABLE(name, rows, meaning) TABLE_##name,
#define COLUMN(table, name, ...)
#include "tables.def"
    TABLES,
};
enum column {
#define TABLE(name, rows, meaning) name##_columns_begin = -1,
#define COLUMN(table, name, ...) table##_##name,
#include "tables.def"
};
/* Where each table begins in a list that holds, for every table, an entry of its own and then its columns. */
enum table_start {
#define TABLE(name, rows, meaning) TABLE_START_##name,
#define COLUMN(table, name, ...) TABLE_PLACE_##table##_##name,
#include "tables.def"
    TABLE_START_end,
};
enum {
    PROCESS_COLUMNS = TABLE_START_mounts - TABLE_START_processes - 1,
    MOUNT_COLUMNS = TABLE_START_slices - TABLE_START_mounts - 1,
    SLICE_KEYS = TABLE_START_files - TABLE_START_slices - 1,
    FILE_COLUMNS = TABLE_START_calls - TABLE_START_files - 1,
    CALL_COLUMNS = TABLE_START_mishaps - TABLE_START_calls - 1,
    PROBLEM_COLUMNS = TABLE_START_unprofiled - TABLE_START_mishaps - 1,
    UNPROFILED_COLUMNS = TABLE_START_launches - TABLE_START_unprofiled - 1,
    LAUNCH_COLUMNS = TABLE_START_nodes - TABLE_START_launches - 1,
    NODE_COLUMNS = TABLE_START_node_devices - TABLE_START_nodes - 1,
    NODE_DEVICE_COLUMNS = TABLE_START_node_slices - TABLE_START_node_devices - 1,
    NODE_SLICE_COLUMNS = TABLE_START_node_networks - TABLE_START_node_slices - 1,
    NODE_NETWORK_COLUMNS = TABLE_START_node_blocks - TABLE_START_node_networks - 1,
    NODE_BLOCK_COLUMNS = TABLE_START_node_nfs - TABLE_START_node_blocks - 1,
    NODE_NFS_COLUMNS = TABLE_START_node_lustre - TABLE_START_node_nfs - 1,
    NODE_LUSTRE_COLUMNS = TABLE_START_events - TABLE_START_node_lustre - 1,
    EVENT_COLUMNS = TABLE_START_hardware - TABLE_START_events - 1,
    HARDWARE_COLUMNS = TABLE_START_modules - TABLE_START_hardware - 1,
    MODULE_COLUMNS = TABLE_START_frames - TABLE_START_modules - 1,
    FRAME_COLUMNS = TABLE_START_sites - TABLE_START_frames - 1,
    SITE_COLUMNS = TABLE_START_waits - TABLE_START_sites - 1,
    WAIT_COLUMNS = TABLE_START_node_connections - TABLE_START_waits - 1,
    NODE_CONNECTION_COLUMNS = TABLE_START_communication - TABLE_START_node_connections - 1,
    COMMUNICATION_COLUMNS = TABLE_START_usage - TABLE_START_communication - 1,
    USAGE_COLUMNS = TABLE_START_node_processes - TABLE_START_usage - 1,
    NODE_PROCESS_COLUMNS = TABLE_START_node_process_slices - TABLE_START_node_processes - 1,
    NODE_PROCESS_SLICE_COLUMNS = TABLE_START_node_mounts - TABLE_START_node_process_slices - 1,
    NODE_MOUNT_COLUMNS = TABLE_START_node_process_mounts - TABLE_START_node_mounts - 1,
    NODE_PROCESS_MOUNT_COLUMNS = TABLE_START_node_cgroups - TABLE_START_node_process_mounts - 1,
    NODE_CGROUP_COLUMNS = TABLE_START_node_cgroup_disks - TABLE_START_node_cgroups - 1,
    NODE_CGROUP_DISK_COLUMNS = TABLE_START_node_others - TABLE_START_node_cgroup_disks - 1,
    NODE_OTHER_COLUMNS = TABLE_START_node_cgroup_mounts - TABLE_START_node_others - 1,
    NODE_CGROUP_MOUNT_COLUMNS = TABLE_START_node_waits - TABLE_START_node_cgroup_mounts - 1,
    NODE_WAIT_COLUMNS = TABLE_START_node_limits - TABLE_START_node_waits - 1,
    NODE_LIMIT_COLUMNS = TABLE_START_server_runs - TABLE_START_node_limits - 1,
    SERVER_RUN_COLUMNS = TABLE_START_server_targets - TABLE_START_server_runs - 1,
    SERVER_TARGET_COLUMNS = TABLE_START_server_jobs - TABLE_START_server_targets - 1,
    SERVER_JOB_COLUMNS = TABLE_START_server_slices - TABLE_START_server_jobs - 1,
    SERVER_SLICE_COLUMNS = TABLE_START_library_calls - TABLE_START_server_slices - 1,
    LIBRARY_CALL_COLUMNS = TABLE_START_regions - TABLE_START_library_calls - 1,
    REGION_COLUMNS = TABLE_START_thread_waits - TABLE_START_regions - 1,
    THREAD_WAIT_COLUMNS = TABLE_START_accelerated - TABLE_START_thread_waits - 1,
    ACCELERATED_COLUMNS = TABLE_START_end - TABLE_START_accelerated - 1,
};

/* The counters of one (process, mount, layer, slice). */
struct counts {
    uint64_t counter[COUNTERS];
    uint32_t bin[ALL_BINS];
};

_Static_assert(COUNTER_sync_ops == COUNTER_read_ops + KIND_sync && COUNTER_write_bytes == COUNTER_read_bytes + KIND_write &&
                   COUNTER_sync_ns == COUNTER_read_ns + KIND_sync && COUNTER_sync_slowest_ns == COUNTER_read_slowest_ns + KIND_sync &&
                   COUNTER_write_sequential == COUNTER_read_sequential + KIND_write &&
                   COUNTER_write_consecutive == COUNTER_read_consecutive + KIND_write && COUNTER_write_first == COUNTER_read_first + KIND_write &&
                   COUNTER_kernel_write_bytes == COUNTER_kernel_read_bytes + KIND_write,
               "counters of the kinds of calls stand in the order of the kinds");
_Static_assert(BINS_write_size == BINS_read_size + 10 && BINS_write_latency == BINS_read_latency + 28 &&
                   BINS_meta_latency == BINS_read_latency + 2 * 28,
               "rows of bins stand in the order of the kinds");

#endif
