/* Texts of /proc and /sys as no kernel writes them: the first byte says which, the rest is the text. */
#include "bed.h"

#include "engine.h"
#include "fake_engine.h"
#include "kernel.h"
#include "module.h"
#include "mount.h"
#include "sources.h"
#include "state.h"
#include "unwind.h"

static const char *const node_texts[] = {
    "proc/net/dev", "proc/net/snmp", "proc/net/netstat", "proc/meminfo", "proc/diskstats", "proc/self/mountstats", "proc/pressure/cpu",
    "proc/pressure/memory", "proc/pressure/io", "proc/fs/lustre/llite/fs-1/stats", "proc/fs/lustre/osc/fs-OST0000/stats",
    "proc/fs/lustre/osc/fs-OST0000/import",
};
enum { NODE_TEXTS = sizeof node_texts / sizeof *node_texts };

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    bed_make();
    for (unsigned i = 0; i < NODE_TEXTS; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", bed, node_texts[i]);
        for (char *slash = path + strlen(bed) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
            *slash = '\0';
            mkdir(path, 0700);
        }
    }
    return 0;
}

static void read_mounts(const char *path)
{
    fake_system.mountinfo = path;
    fake_engine_start(bed, 4000000000);
    for (uint64_t device = 0; device < 40; device++)
        mount_enter(&engine.home, OBJECT_file, device << 8 | device, 0, device % 2 == 0 ? NULL : "/a/b");
    mount_enter(&engine.home, OBJECT_file, 1, 0, "/");
    mount_enter(&engine.home, OBJECT_file, 2, 0, "/scratch/with space/file");
    fake_engine_stop();
}

static void read_counts(const char *path)
{
    fake_system.self_io = path;
    fake_engine_start(bed, 4000000000);
    kernel_start(&engine.home, false, 0);
    kernel_sample(&engine.home, 7);
    fake_engine_stop();
}

static void read_maps(const char *path)
{
    fake_system.self_maps = path;
    module_forget();
    module_refresh();
    for (uint64_t address = 0; address < 1 << 16; address += 1 << 12)
        module_of(address);
    module_of((uintptr_t)&read_maps);
    module_forget();
}

static void read_node(const char *name, const uint8_t *data, size_t size)
{
    static struct reading reading;
    reading = (struct reading){ .root = bed };
    char path[512];
    snprintf(path, sizeof path, "%s/%s", bed, name);
    bed_write(path, data, size);
    sources_read(&reading);
    bed_write(path, data, size / 2);
    sources_read(&reading);
    sources_take_back(&reading);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned which = *data++ % (3 + NODE_TEXTS);
    const char *path = bed_path("text");
    size--;
    if (which >= 3)
        read_node(node_texts[which - 3], data, size);
    else {
        bed_write(path, data, size);
        (which == 0 ? read_mounts : which == 1 ? read_counts : read_maps)(path);
    }
    fake_system_reset();
    return 0;
}
