/* Asynchronous requests, from submission to the moment at which the program learns of their completion. */
#include "catch.h"
#include "sandbox.h"

#include <fcntl.h>

namespace {

constexpr uint64_t SLICE_NS = 1000000000;

/* The engine on, no request under way, and a file; `mount` is the file's. */
struct Requests {
    Sandbox sandbox;
    Engine engine{ sandbox, SLICE_NS };
    int fd = open(sandbox.path("file").c_str(), O_RDWR | O_CREAT, 0600);
    uint32_t mount = descriptor_mount(descriptor_of(fd));

    Requests() { request_forget_all(); }
    ~Requests()
    {
        request_forget_all();
        if (fd >= 0)
            close(fd);
    }
    struct call submit(request_id id, enum operation operation)
    {
        struct call call = engine.call(operation, 0);
        request_begin(id, operation, &call, fd, 0);
        return call;
    }
    descriptor done(request_id id, int64_t moved)
    {
        struct call call = engine.call(OP_io_getevents, 0);
        return request_done(id, &call, moved);
    }
    uint64_t counted(enum counter counter)
    {
        const counts *found = engine.open_counts(mount, LAYER_async);
        return found != nullptr ? found->counter[counter] : 0;
    }
};

} // namespace

TEST_CASE("a request counts once, when it is done, with all the time since its submission", "[request]")
{
    Requests requests;
    requests.submit(4096, OP_libaio_write);
    CHECK(requests.counted(COUNTER_write_ops) == 0);
    requests.engine.pass(5000);
    CHECK(requests.done(4096, 777) != 0);
    CHECK(requests.done(4096, 777) == 0);
    CHECK(requests.counted(COUNTER_write_ops) == 1);
    CHECK(requests.counted(COUNTER_write_bytes) == 777);
    CHECK(requests.counted(COUNTER_write_ns) == 5000);
    CHECK(requests.counted(COUNTER_kernel_write_bytes) == 0);
    CHECK(request_count() == 0);
}

TEST_CASE("a request lasts until its completion could first be known", "[request]")
{
    Requests requests;
    struct call call = requests.submit(64, OP_aio_read);
    request_noticed(64, call.start_tick + 300);
    request_noticed(64, call.start_tick + 400);
    requests.engine.pass(5000);
    requests.done(64, 10);
    CHECK(requests.counted(COUNTER_read_ns) == 300);
    CHECK(requests.counted(COUNTER_kernel_read_bytes) == 10); /* libc's threads read it */
}

TEST_CASE("what was not submitted, or belongs to nobody, counts nothing", "[request]")
{
    Requests requests;
    requests.submit(64, OP_libaio_read);
    request_drop(64);
    CHECK(requests.done(64, 10) == 0);
    CHECK(requests.done(128, 10) == 0);
    CHECK(requests.counted(COUNTER_read_ops) == 0);
}

TEST_CASE("a failed request is an error of no bytes", "[request]")
{
    Requests requests;
    requests.submit(64, OP_libaio_read);
    requests.done(64, -EIO);
    CHECK(requests.counted(COUNTER_errors) == 1);
    CHECK(requests.counted(COUNTER_read_bytes) == 0);
}

TEST_CASE("a request whose descriptor was closed meanwhile counts where it belongs", "[request]")
{
    Requests requests;
    requests.submit(64, OP_libaio_write);
    descriptor_release(requests.fd);
    close(requests.fd);
    int other = open("/dev/null", O_RDWR);
    REQUIRE(other == requests.fd);
    requests.done(64, 50);
    CHECK(requests.counted(COUNTER_write_bytes) == 50);
}

TEST_CASE("what does not fit into the table is counted as a problem, and all else exactly", "[request]")
{
    Requests requests;
    constexpr uint64_t most = 6000;
    for (uint64_t i = 0; i < most; i++)
        requests.submit(1 + i * 192, OP_libaio_write);
    uint64_t lost = engine.home.segment->problems[PROBLEM_requests_untracked], done = 0;
    CHECK(lost >= most - 4096);
    CHECK(request_count() == most - lost);
    for (uint64_t i = 0; i < most; i++)
        done += requests.done(1 + i * 192, 3) != 0;
    CHECK(done == most - lost);
    CHECK(requests.counted(COUNTER_write_bytes) == 3 * done);
    CHECK(request_count() == 0);
}

TEST_CASE("requests of one name, as io_uring allows them, are as many as there were", "[request]")
{
    Requests requests;
    for (int i = 0; i < 20; i++)
        requests.submit(0, OP_uring_write);
    for (int i = 0; i < 20; i++)
        CHECK(requests.done(0, 5) != 0);
    CHECK(requests.done(0, 5) == 0);
    CHECK(requests.counted(COUNTER_write_ops) == 20);
}

TEST_CASE("a request whose name is used anew is known to be lost", "[request]")
{
    Requests requests;
    request_abandon(64);
    CHECK(request_count() == 0);
    requests.submit(64, OP_aio_write);
    request_abandon(64);
    CHECK(request_count() == 1);
    CHECK(requests.done(64, 10) == 0);
    request_forget_all();
    CHECK(request_count() == 0);
}
