/* A program that loads what needs libaio and liburing into a scope of its own: with -DPLUG_IN the plug-in, which writes by either. */
#include "scenario.h"

#ifdef PLUG_IN
#include <libaio.h>
#include <liburing.h>

static char block[4096];

void write_by_both(const char *path);
void write_by_both(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    io_context_t context = NULL;
    struct iocb request, *list = &request;
    struct io_event event;
    io_prep_pwrite(&request, fd, block, sizeof block, 0);
    REQUIRE(io_setup(8, &context) == 0 && io_submit(context, 1, &list) == 1 && io_getevents(context, 1, 1, &event, NULL) == 1);
    struct io_uring ring;
    struct io_uring_cqe *entry;
    REQUIRE(io_uring_queue_init(8, &ring, 0) == 0);
    io_uring_prep_write(io_uring_get_sqe(&ring), fd, block, 100, 0);
    REQUIRE(io_uring_submit(&ring) == 1 && io_uring_wait_cqe(&ring, &entry) == 0 && entry->res == 100);
    io_uring_queue_exit(&ring);
}
#else
#include <dlfcn.h>

int main(int argc, char **argv)
{
    REQUIRE(argc == 3);
    void *plug_in = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    REQUIRE(plug_in != NULL);
    void (*write_by_both)(const char *) = (void (*)(const char *))dlsym(plug_in, "write_by_both");
    write_by_both(argv[2]);
    return 0;
}
#endif
