#include "catch.h"
#include "sandbox.h"

#include <cstring>
#include <sys/mman.h>

namespace {

/* A text that runs into memory which cannot be read. */
const char *torn(const char *text)
{
    const size_t page = 4096;
    char *pages = static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages + page, page, PROT_NONE);
    return static_cast<char *>(memcpy(pages + page - strlen(text), text, strlen(text)));
}

} // namespace

TEST_CASE("a name of a call that failed is on the mount that it would be on", "[name]")
{
    Sandbox sandbox;
    Engine started(sandbox);
    int root = open("/", O_RDONLY | O_DIRECTORY), pipes[2];
    REQUIRE((root >= 0 && pipe(pipes) == 0));
    uint32_t of_root = name_mount(AT_FDCWD, "/", false), of_proc = name_mount(AT_FDCWD, "/proc/self/stat", false);
    uint32_t here = name_mount(AT_FDCWD, ".", false), of_pipe = descriptor_mount(descriptor_of(pipes[0]));
    CHECK(of_root != of_proc);
    CHECK(of_pipe != of_root);

    CHECK(name_mount(AT_FDCWD, "/", true) == of_root);
    CHECK(name_mount(AT_FDCWD, "/no/such/thing", true) == of_root);
    CHECK(name_mount(AT_FDCWD, "/proc/self/stat", true) == of_proc);
    CHECK(name_mount(AT_FDCWD, "/proc/no/such/thing", true) == of_proc);
    CHECK(name_mount(AT_FDCWD, "no/such/thing", true) == here);
    CHECK(name_mount(AT_FDCWD, "", true) == here);
    CHECK(name_mount(root, "no/such/thing", true) == of_root);
    CHECK(name_mount(pipes[0], "thing", true) == of_pipe);
    CHECK(name_mount(pipes[0], "/proc/no/such/thing", true) == of_proc);
    CHECK(name_mount(pipes[0], nullptr, true) == of_pipe);
    CHECK(name_mount(pipes[0], nullptr, false) == of_pipe);

    for (const char *bad : { reinterpret_cast<const char *>(-1), torn("/proc/self"), torn("x"), torn("") })
        CHECK(name_mount(AT_FDCWD, bad, true) == MOUNT_OTHER);
    close(root);
    close(pipes[0]);
    close(pipes[1]);
}
