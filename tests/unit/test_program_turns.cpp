/* Taking turns by a program's own calls: what the coordinator hears, and what the calls answer. */
#include "catch.h"
#include "sandbox.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#define _Static_assert static_assert
extern "C" {
#include "turn.h"
}
#include "slicewise/coordinate.h"

namespace {

/* The coordinator's side of one connection. */
class Peer {
public:
    explicit Peer(const std::string &path)
    {
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        REQUIRE(path.size() < sizeof address.sun_path);
        memcpy(address.sun_path, path.c_str(), path.size());
        REQUIRE(bind(listener, (const sockaddr *)&address, sizeof address) == 0);
        REQUIRE(listen(listener, 1) == 0);
    }

    ~Peer()
    {
        hang_up();
        close(listener);
    }

    /* While the program connects. */
    void greet()
    {
        connection = accept(listener, nullptr, nullptr);
        const turn_message hello = receive();
        turn_message challenge = {};
        challenge.magic = TURN_MAGIC;
        challenge.version = TURN_VERSION;
        challenge.kind = TURN_challenge;
        uint8_t secret[SHA256_BYTES];
        turn_secret(secret, "", 0);
        turn_key(key, secret, hello.nonce, challenge.nonce);
        is_known = send(connection, &challenge, sizeof challenge, 0) == sizeof challenge;
    }

    turn_message hear()
    {
        turn_message message = receive();
        CHECK(turn_is_sound(&message, key, &from));
        return message;
    }

    void tell(turn_kind kind, uint64_t phase)
    {
        turn_message message = {};
        message.kind = (uint16_t)kind;
        message.phase = phase;
        turn_seal(&message, key, &to);
        is_known = is_known && send(connection, &message, sizeof message, 0) == sizeof message;
    }

    void hang_up()
    {
        if (connection >= 0)
            close(connection);
        connection = -1;
    }

    bool is_known = false; /* and has got all that it was told */

private:
    turn_message receive() const
    {
        turn_message message = {};
        recv(connection, &message, sizeof message, MSG_WAITALL);
        return message;
    }

    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), connection = -1;
    uint8_t key[SHA256_BYTES] = {};
    turn_way from = { TURN_TO_COORDINATOR, 0 }, to = { TURN_FROM_COORDINATOR, 0 };
};

} // namespace

/* One test, since a process asks for its settings once. */
TEST_CASE("a program's own calls tell of its phases, and answer as the coordinator says", "[turn]")
{
    Sandbox sandbox;
    const std::string path = sandbox.path("turns");
    Peer peer(path);
    setenv("SLICEWISE_COORDINATE_AT", ("unix:" + path).c_str(), 1);
    setenv("SLICEWISE_COORDINATE_DEADLINE", "20", 1);
    setenv("SLICEWISE_QUIET", "1", 1);

    const slicewise_io io = { 1000, 2.5, 0.5, 7 };
    CHECK(slicewise_coordinate_prepare(&io) == SLICEWISE_GO);
    std::thread greeting([&] { peer.greet(); });
    CHECK(slicewise_coordinate_inform() == SLICEWISE_GO);
    greeting.join();
    REQUIRE(peer.is_known);
    CHECK(peer.hear().kind == TURN_join);
    const turn_message informed = peer.hear();
    CHECK(informed.kind == TURN_inform);
    CHECK(informed.bytes == 1000);
    CHECK(informed.remaining_bytes == 1000);
    CHECK(informed.seconds == 2.5);
    CHECK(informed.demand == 0.5);
    CHECK(informed.processes == 7);

    CHECK(slicewise_coordinate_check() == SLICEWISE_STAY);
    peer.tell(TURN_go, informed.phase + 1); /* of a phase that it does not know */
    CHECK(slicewise_coordinate_check() == SLICEWISE_STAY);
    peer.tell(TURN_go, informed.phase);
    CHECK(slicewise_coordinate_wait() == SLICEWISE_GO);
    CHECK(slicewise_coordinate_check() == SLICEWISE_GO);

    peer.tell(TURN_stop, informed.phase);
    CHECK(slicewise_coordinate_release(400) == SLICEWISE_STAY);
    const turn_message released = peer.hear();
    CHECK(released.kind == TURN_release);
    CHECK(released.remaining_bytes == 400);
    std::thread later([&] {
        usleep(20000);
        peer.tell(TURN_go, informed.phase);
    });
    CHECK(slicewise_coordinate_wait() == SLICEWISE_GO);
    later.join();
    CHECK(peer.is_known);
    CHECK(slicewise_coordinate_waited() >= 0.02);
    CHECK(peer.hear().remaining_bytes == 400); /* the next step begins */

    CHECK(slicewise_coordinate_complete() == SLICEWISE_GO);
    CHECK(peer.hear().remaining_bytes == 0);
    CHECK(slicewise_coordinate_inform() == SLICEWISE_GO);
    CHECK(peer.hear().phase == informed.phase + 1);
    const uint64_t second = informed.phase + 1;
    CHECK(slicewise_coordinate_complete() == SLICEWISE_GO);
    CHECK(peer.hear().remaining_bytes == 0);

    /* A program of four files, and a library that writes each in eight rounds of 100 bytes. */
    const slicewise_io unknown = {};
    CHECK(slicewise_coordinate_prepare(&unknown) == SLICEWISE_GO);
    CHECK(slicewise_coordinate_prepare_values("files=4 period=30 targets=0,65 colour=blue demand=much") == SLICEWISE_GO);
    CHECK(slicewise_coordinate_prepare_values("rounds=8 bytes=100") == SLICEWISE_GO);
    CHECK(slicewise_coordinate_inform() == SLICEWISE_GO);
    const turn_message whole = peer.hear();
    CHECK(whole.phase == second + 1);
    CHECK(whole.bytes == 3200);
    CHECK(whole.more.period_seconds == 30);
    CHECK(whole.more.targets == 0b11);
    CHECK(whole.demand == 0);
    CHECK(slicewise_coordinate_complete() == SLICEWISE_STAY); /* one file of four */
    CHECK(peer.hear().remaining_bytes == 2400);
    CHECK(slicewise_coordinate_prepare_values("rounds=8 bytes=100") == SLICEWISE_GO);
    CHECK(slicewise_coordinate_inform() == SLICEWISE_GO);
    const turn_message goes_on = peer.hear();
    CHECK(goes_on.phase == whole.phase);
    CHECK(goes_on.remaining_bytes == 2400);
    CHECK(slicewise_coordinate_complete() == SLICEWISE_STAY);
    CHECK(peer.hear().remaining_bytes == 1600);
    CHECK(slicewise_coordinate_complete() == SLICEWISE_GO); /* and all of them */
    CHECK(peer.hear().remaining_bytes == 0);
    for (int i = 0; i < 100; i++) /* more than are kept */
        CHECK(slicewise_coordinate_prepare_values("bytes=7") == SLICEWISE_GO);
    CHECK(slicewise_coordinate_inform() == SLICEWISE_GO);
    CHECK(peer.hear().bytes == 7);
    for (int i = 0; i < 100; i++) {
        slicewise_coordinate_complete();
        CHECK((peer.hear().remaining_bytes == 0) == (i == 99));
    }
    CHECK(slicewise_coordinate_inform() == SLICEWISE_GO);
    CHECK(peer.hear().bytes == 0);
    CHECK(slicewise_coordinate_complete() == SLICEWISE_GO);
    CHECK(peer.hear().remaining_bytes == 0);

    /* A call that finds another thread in here is made up for by the next one. */
    CHECK(slicewise_coordinate_prepare_values("bytes=5") == SLICEWISE_GO);
    CHECK(slicewise_coordinate_inform() == SLICEWISE_GO);
    const turn_message held = peer.hear();
    CHECK(held.bytes == 5);
    std::thread waiting([] { slicewise_coordinate_wait(); });
    usleep(50000);
    CHECK(slicewise_coordinate_complete() == SLICEWISE_OFF);
    peer.tell(TURN_go, held.phase);
    waiting.join();
    CHECK(slicewise_coordinate_prepare_values("bytes=9") == SLICEWISE_GO);
    CHECK(slicewise_coordinate_complete() == SLICEWISE_GO);
    CHECK(peer.hear().remaining_bytes == 0);
    CHECK(slicewise_coordinate_inform() == SLICEWISE_GO);
    CHECK(peer.hear().bytes == 0);
    peer.hang_up();
    CHECK(slicewise_coordinate_wait() == SLICEWISE_OFF);
    CHECK(slicewise_coordinate_inform() == SLICEWISE_OFF);
    CHECK(slicewise_coordinate_complete() == SLICEWISE_OFF);
    for (const char *name : { "SLICEWISE_COORDINATE_AT", "SLICEWISE_COORDINATE_DEADLINE", "SLICEWISE_QUIET" })
        unsetenv(name);
}
