/* The engine, real and whole, under threads: eight count on files of their own while others come and go, slices turn every 0.1 s, and at last
 * one finishes the process while all still count. Before that, eight threads share a table by keys. Built for ThreadSanitizer; checks the
 * sums as well. Prints one line; exit status 1 if they are wrong. */
#include <atomic> /* before the engine's headers, whose stand-in for C's atomics are macros */
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../key_table_threads.h"
#include "../spool_reader.h"

namespace
{

constexpr int THREADS = 8;
constexpr int COMING_AND_GOING = 2;
constexpr int64_t BYTES = 100;

std::atomic<bool> is_over{ false };
std::atomic<uint64_t> calls_made{ 0 };

void write_once(int fd, int64_t offset)
{
    static const char bytes[BYTES] = {};
    struct call call = call_begin(OP_pwrite);
    long moved = syscall(SYS_pwrite64, fd, bytes, sizeof bytes, offset);
    call_end(&call);
    call_wrote(&call, fd, offset, moved);
    call_close(&call);
    calls_made.fetch_add(1);
}

int open_once(const std::string &path)
{
    struct call call = call_begin(OP_open);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT, 0600);
    call_end(&call);
    call_opened(&call, fd, AT_FDCWD, path.c_str());
    call_close(&call);
    return fd;
}

void close_once(int fd)
{
    descriptor leads_to = descriptor_release(fd);
    struct call call = call_begin(OP_close);
    long failed = syscall(SYS_close, fd);
    call_end(&call);
    call_touched_descriptor(&call, leads_to, failed != 0);
    call_close(&call);
}

void count_until_over(const std::string &path)
{
    while (!is_over) {
        int fd = open_once(path);
        for (int i = 0; i < 50 && !is_over; i++)
            write_once(fd, i * BYTES);
        close_once(fd);
    }
}

void come_and_go(const std::string &path)
{
    int fd = open_once(path);
    while (!is_over)
        std::thread(write_once, fd, 0).join();
    close_once(fd);
}

} // namespace

int main()
{
    const std::string dir = getenv("SLICEWISE_DIR");
    auto table = std::make_unique<KeyTableThreads>();
    if (!table->run(THREADS, 100000)) {
        std::fprintf(stderr, "race: threads tore, lost or doubled an entry of a table\n");
        return 1;
    }
    if (!engine_start()) {
        std::fprintf(stderr, "race: the engine does not start\n");
        return 1;
    }
    char spool[2048];
    spool_path(spool, sizeof spool, engine.home.segment);
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++)
        threads.emplace_back(count_until_over, dir + "/file" + std::to_string(i));
    for (int i = 0; i < COMING_AND_GOING; i++)
        threads.emplace_back(come_and_go, dir + "/shared" + std::to_string(i));
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    uint64_t least = calls_made;
    engine_finish(ENDING_exit);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    is_over = true;
    for (std::thread &thread : threads)
        thread.join();
    uint64_t most = calls_made, counted = 0, bytes = 0;
    Spool read = read_spool(spool);
    for (const Row &row : read.rows("slices"))
        if (row["layer"] == LAYER_posix) {
            counted += row["write_ops"];
            bytes += row["write_bytes"];
        }
    /* The call that a thread is in when the process ends may be there in part, as when it is spread over two slices: one at most for each thread. */
    int64_t in_part = (int64_t)bytes - BYTES * (int64_t)counted;
    bool is_right = least <= counted && counted <= most && std::llabs(in_part) < BYTES * (THREADS + COMING_AND_GOING) && read.is_gapless() &&
                    read.bytes_passed_over == 0;
    std::printf("race: %llu calls made before the end, %llu counted with %llu bytes, %llu made in all: %s\n", (unsigned long long)least,
                (unsigned long long)counted, (unsigned long long)bytes, (unsigned long long)most, is_right ? "right" : "WRONG");
    return !is_right;
}
