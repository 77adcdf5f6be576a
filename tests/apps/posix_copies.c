/* Bytes that go from descriptor to descriptor without being the program's: file to file, file to socket, through pipes; with and without
 * offsets of their own; and those of preadv2 and pwritev2. With -DNAMES_64 by the explicit 64-bit names. */
#include "scenario.h"

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifdef NAMES_64
#define sendfile sendfile64
#define preadv2 preadv64v2
#define pwritev2 pwritev64v2
#endif

static char block[10000];

static void copy(int from, int to)
{
    off_t from_offset = 1000, to_offset = 5000;
    REQUIRE(copy_file_range(from, &from_offset, to, &to_offset, 300, 0) == 300 && from_offset == 1300);
    REQUIRE(copy_file_range(from, NULL, to, NULL, 200, 0) == 200);
    REQUIRE(copy_file_range(from, &(off_t){ 1 << 30 }, to, NULL, 200, 0) == 0);
    REQUIRE(copy_file_range(from, NULL, to, NULL, 100, 77) == -1 && errno == EINVAL);
    REQUIRE(sendfile(to, from, &from_offset, 150) == 150 && from_offset == 1450);
}

static void send_to_socket(int from)
{
    int sockets[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    REQUIRE(sendfile(sockets[0], from, NULL, 700) == 700);
    REQUIRE(read(sockets[1], block, 1000) == 700);
    REQUIRE(sendfile(sockets[0], -1, NULL, 700) == -1 && errno == EBADF);
    REQUIRE(close(sockets[0]) == 0 && close(sockets[1]) == 0);
}

static void pass_through_pipes(int from, int to)
{
    int one[2], two[2];
    struct iovec part = { block, 60 };
    off_t offset = 0;
    REQUIRE(pipe(one) == 0 && pipe(two) == 0);
    REQUIRE(splice(from, &offset, one[1], NULL, 500, 0) == 500 && offset == 500);
    REQUIRE(tee(one[0], two[1], 400, 0) == 400);
    REQUIRE(splice(one[0], NULL, to, NULL, 500, 0) == 500);
    REQUIRE(vmsplice(one[1], &part, 1, 0) == 60);
    REQUIRE(splice(two[0], NULL, one[1], NULL, 100, 0) == 100);
    REQUIRE(splice(from, NULL, to, NULL, 100, 0) == -1 && errno == EINVAL);
    for (int i = 0; i < 2; i++)
        REQUIRE(close(one[i]) == 0 && close(two[i]) == 0);
}

static void transfer(int from, int to)
{
    struct iovec parts[] = { { block, 10 }, { block + 10, 20 } };
    REQUIRE(preadv2(from, parts, 2, 100, 0) == 30 && preadv2(from, parts, 2, -1, 0) == 30);
    REQUIRE(pwritev2(to, parts, 2, 100, 0) == 30 && pwritev2(to, parts, 2, -1, 0) == 30);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    scenario_begin();
    int from = open("from", O_RDWR | O_CREAT | O_TRUNC, 0600), to = open("to", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(from >= 0 && to >= 0 && write(from, block, sizeof block) == sizeof block && lseek(from, 0, SEEK_SET) == 0);
    copy(from, to);
    send_to_socket(from);
    pass_through_pipes(from, to);
    transfer(from, to);
    REQUIRE(close(from) == 0 && close(to) == 0);
    scenario_end();
    return 0;
}
