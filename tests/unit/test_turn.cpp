/* What jobs and the coordinator say to each other: nobody without the secret can say it, nor say it again. */
#include "catch.h"

#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#define _Static_assert static_assert
extern "C" {
#include "turn.h"
#include "turn_values.h"
}

namespace {

struct Key {
    uint8_t bytes[SHA256_BYTES];

    explicit Key(const char *secret)
    {
        uint8_t hashed[SHA256_BYTES];
        const uint8_t nonces[2][TURN_NONCE_BYTES] = { { 1 }, { 2 } };
        turn_secret(hashed, secret, strlen(secret));
        turn_key(bytes, hashed, nonces[0], nonces[1]);
    }
};

} // namespace

TEST_CASE("SHA-256 and HMAC are those of the standards", "[turn]")
{
    uint8_t digest[SHA256_BYTES];
    const uint8_t key[SHA256_BYTES] = {};
    sha256("abc", 3, digest);
    CHECK(digest[0] == 0xba);
    CHECK(digest[31] == 0xad);
    hmac_sha256(key, "", 0, digest);
    CHECK(digest[0] == 0xb6);
    CHECK(digest[31] == 0xad);
}

TEST_CASE("a message is sound once, with the right secret, in its own direction", "[turn]")
{
    const Key key("a secret"), same("a secret\n"), other("another secret");
    turn_way out = { TURN_TO_COORDINATOR, 0 }, in = { TURN_TO_COORDINATOR, 0 }, back = { TURN_FROM_COORDINATOR, 0 };
    turn_message message = {};
    message.kind = TURN_inform;
    turn_seal(&message, key.bytes, &out);
    CHECK_FALSE(turn_is_sound(&message, other.bytes, &in));
    CHECK_FALSE(turn_is_sound(&message, key.bytes, &back));
    turn_message changed = message;
    changed.bytes++;
    CHECK_FALSE(turn_is_sound(&changed, key.bytes, &in));
    CHECK(turn_is_sound(&message, same.bytes, &in));
    CHECK_FALSE(turn_is_sound(&message, key.bytes, &in));
}

TEST_CASE("values by names are taken where they make sense", "[turn]")
{
    turn_values values = {};
    turn_values_read(&values, "  rounds=8  bytes=1.5e3 files=2 targets=3,,ost-a, period=300 ");
    CHECK(turn_values_bytes(&values) == 24000);
    CHECK(values.period == 300);
    const uint64_t targets = values.targets;
    CHECK((targets & 0b1000) != 0);
    CHECK(__builtin_popcountll(targets & ~0b1000ull) == 1);
    for (const char *text : { "", " ", "=", "=1", "bytes", "bytes=", "bytes= 7", "bytes=-1", "bytes=0", "bytes=nan", "bytes=inf", "bytes=1x", "byte=1",
                              "bytess=1", "rounds=1e999", "colour=blue files =3" })
        turn_values_read(&values, text);
    CHECK(turn_values_bytes(&values) == 24000);
    CHECK(values.targets == targets);
    turn_values_read(&values, "targets=64 bytes=1");
    CHECK(values.targets == 1); /* as 0 */
    CHECK(turn_values_bytes(&values) == 16);
    turn_values_read(&values, "targets=,");
    CHECK(turn_values_more(&values).targets == 0); /* nothing is known: all */
}

TEST_CASE("an address is a path or digits", "[turn]")
{
    turn_address address;
    for (const char *good : { "unix:/run/x", "tcp:127.0.0.1:7000", "tcp:[::1]:7000" })
        CHECK(turn_read_address(&address, good));
    for (const char *bad : { "", "unix:", "unix:x", "tcp:", "tcp:host:1", "tcp:127.0.0.1", "tcp:127.0.0.1:0", "tcp:127.0.0.1:65536", "tcp:1:2x" })
        CHECK_FALSE(turn_read_address(&address, bad));
}
