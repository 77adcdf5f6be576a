#include "catch.h"
#include "sandbox.h"

#include <cstring>
#include <sys/mman.h>
#include <thread>

namespace
{

/* A text that runs into memory which cannot be read. */
const char *torn(const char *text)
{
    const size_t page = 4096;
    char *pages = static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages + page, page, PROT_NONE);
    return static_cast<char *>(memcpy(pages + page - strlen(text), text, strlen(text)));
}

const uint64_t millisecond = 1000000;

/* The mount of a name as a call of that operation finds it which ends now: `error` 0, it succeeded. */
uint32_t mount_of(int dirfd, const char *path, int error = 0, enum operation operation = OP_access)
{
    struct call call = call_begin(operation);
    call_stop(&call);
    call.saved_errno = error;
    return name_mount(&call, dirfd, path, error != 0);
}

/* How often the kernel is asked about `path` by so many calls. */
uint64_t asked(const char *path, int error, int calls)
{
    fake_system.counted_syscall = SYS_statx;
    fake_system.times = 0;
    for (int i = 0; i < calls; i++)
        mount_of(AT_FDCWD, path, error);
    return fake_system.times;
}

} // namespace

TEST_CASE_METHOD(Started, "a name of a call that failed is on the mount that it would be on", "[name]")
{
    int root = open("/", O_RDONLY | O_DIRECTORY), pipes[2];
    REQUIRE((root >= 0 && pipe(pipes) == 0));
    uint32_t of_root = mount_of(AT_FDCWD, "/"), of_proc = mount_of(AT_FDCWD, "/proc/self/stat");
    uint32_t here = mount_of(AT_FDCWD, "."), of_pipe = descriptor_mount(descriptor_of(pipes[0]));
    CHECK(of_root != of_proc);
    CHECK(of_pipe != of_root);

    for (int error : { ENOENT, EACCES }) { /* the one says that the name was read, the other does not */
        CHECK(mount_of(AT_FDCWD, "/", error) == of_root);
        CHECK(mount_of(AT_FDCWD, "/no/such/thing", error) == of_root);
        CHECK(mount_of(AT_FDCWD, "/proc/self/stat", error) == of_proc);
        CHECK(mount_of(AT_FDCWD, "/proc/no/such/thing", error) == of_proc);
        CHECK(mount_of(AT_FDCWD, "/proc/../no/such/thing", error) == of_root);
        CHECK(mount_of(AT_FDCWD, "no/such/thing", error) == here);
        CHECK(mount_of(AT_FDCWD, "", error) == here);
        CHECK(mount_of(root, "no/such/thing", error) == of_root);
        CHECK(mount_of(root, "proc/no/such/thing", error) == of_proc);
        CHECK(mount_of(pipes[0], "thing", error) == of_pipe);
        CHECK(mount_of(pipes[0], "/proc/no/such/thing", error) == of_proc);
        CHECK(mount_of(pipes[0], nullptr, error) == of_pipe);
    }
    CHECK(mount_of(pipes[0], nullptr) == of_pipe);
    std::string deep = "/proc/" + std::string(300, 'd') + "/" + std::string(300, 'f');
    CHECK(mount_of(AT_FDCWD, deep.c_str(), ENOENT) == of_proc);
    CHECK(mount_of(AT_FDCWD, deep.c_str(), EACCES) == of_proc);

    for (const char *bad : { reinterpret_cast<const char *>(-1), torn("/proc/self"), torn("x"), torn("") })
        CHECK(mount_of(AT_FDCWD, bad, EFAULT) == MOUNT_OTHER);
    /* Of two names it may have been the other one that was read. */
    CHECK(mount_of(AT_FDCWD, torn("/proc/self"), ENOENT, OP_rename) == MOUNT_OTHER);
    close(root);
    close(pipes[0]);
    close(pipes[1]);
}

TEST_CASE_METHOD(Started, "an entry is on its directory's mount, and what a link leads to on its own", "[name]")
{
    uint32_t here = mount_of(AT_FDCWD, sandbox.path().c_str()), of_proc = mount_of(AT_FDCWD, "/proc");
    std::string link = sandbox.path("link"), below = sandbox.path("link/version");
    REQUIRE(symlink("/proc", link.c_str()) == 0);
    REQUIRE(here != of_proc);
    CHECK(mount_of(AT_FDCWD, link.c_str(), 0, OP_access) == of_proc);
    for (enum operation operation : { OP_readlink, OP_unlink, OP_symlink, OP_rename, OP_link })
        CHECK(mount_of(AT_FDCWD, link.c_str(), 0, operation) == here);
    CHECK(mount_of(AT_FDCWD, below.c_str(), 0, OP_unlink) == of_proc);
    CHECK(mount_of(AT_FDCWD, (below + "/gone").c_str(), ENOTDIR) == of_proc);
    CHECK(mount_of(AT_FDCWD, (link + "/..").c_str(), EEXIST, OP_mkdir) == mount_of(AT_FDCWD, "/"));
}

TEST_CASE_METHOD(Started, "the kernel is asked about a name once in a millisecond", "[name]")
{
    std::string name = sandbox.path("gone");
    CHECK(asked(name.c_str(), ENOENT, 1000) == 1);
    CHECK(asked(name.c_str(), ENOENT, 1000) == 0);
    CHECK(asked(sandbox.path("another").c_str(), ENOENT, 1) == 0); /* in the same directory */
    started.pass(millisecond + 64);
    CHECK(asked(name.c_str(), ENOENT, 1000) == 1);
    CHECK(asked(sandbox.path().c_str(), 0, 10) == 1);
    CHECK(asked("gone", ENOENT, 10) == 1);
    CHECK(asked("/", 0, 10) == 1);
}

TEST_CASE_METHOD(Started, "what the process does to names is known at once", "[name]")
{
    uint32_t here = mount_of(AT_FDCWD, sandbox.path().c_str()), of_proc = mount_of(AT_FDCWD, "/proc");
    std::string name = sandbox.path("name"), gone = name + "/gone", other = sandbox.path("other");
    REQUIRE(mkdir(name.c_str(), 0700) == 0);
    REQUIRE(symlink("/proc", other.c_str()) == 0);
    CHECK(mount_of(AT_FDCWD, gone.c_str(), ENOENT) == here);
    CHECK(mount_of(AT_FDCWD, name.c_str()) == here);

    SECTION("a link takes a directory's place")
    {
        REQUIRE(rmdir(name.c_str()) == 0);
        name_changed(OP_rmdir);
        REQUIRE(rename(other.c_str(), name.c_str()) == 0);
        name_changed(OP_rename);
        CHECK(mount_of(AT_FDCWD, gone.c_str(), ENOENT) == of_proc);
        CHECK(mount_of(AT_FDCWD, name.c_str()) == of_proc);

        REQUIRE(unlink(name.c_str()) == 0);
        name_changed(OP_unlink);
        REQUIRE(mkdir(name.c_str(), 0700) == 0);
        name_changed(OP_mkdir);
        CHECK(mount_of(AT_FDCWD, gone.c_str(), ENOENT) == here);
    }
    SECTION("a file takes a link's")
    {
        CHECK(mount_of(AT_FDCWD, other.c_str()) == of_proc);
        REQUIRE(unlink(other.c_str()) == 0);
        name_changed(OP_unlink);
        close(open(other.c_str(), O_WRONLY | O_CREAT, 0600));
        CHECK(mount_of(AT_FDCWD, other.c_str()) == here);
    }
    SECTION("another working directory")
    {
        std::string before = std::filesystem::current_path();
        uint32_t of_before = mount_of(AT_FDCWD, "gone", ENOENT);
        REQUIRE(chdir("/proc") == 0);
        name_forget();
        uint32_t then = mount_of(AT_FDCWD, "gone", ENOENT);
        REQUIRE(chdir(before.c_str()) == 0);
        name_forget();
        CHECK(then == of_proc);
        CHECK(mount_of(AT_FDCWD, "gone", ENOENT) == of_before);
    }
}

TEST_CASE_METHOD(Started, "each thread is told of its own", "[name]")
{
    bool is_known = false; /* the other thread's answer may take the place of this one's in the table */
    for (int attempt = 0; attempt < 10 && !is_known; attempt++) {
        std::string directory = sandbox.path("directory" + std::to_string(attempt)), name = directory + "/gone";
        REQUIRE(mkdir(directory.c_str(), 0700) == 0); /* which is what is looked up, and decides the place in the table */
        CHECK(asked(name.c_str(), ENOENT, 10) == 1);
        uint64_t by_thread = 0;
        std::thread([&] { by_thread = asked(name.c_str(), ENOENT, 10); }).join();
        CHECK(by_thread == 1); /* it may have unshared its root or working directory */
        vfork_child_begin(false);
        CHECK(asked(name.c_str(), ENOENT, 10) == 10); /* as may a child in our memory, which may be this very thread */
        vfork_child_end(false);
        is_known = asked(name.c_str(), ENOENT, 10) == 0;
    }
    CHECK(is_known);
}
