/* TCP connections to storage: a kernel's recorded answers are read to the number, and damaged ones harm nobody. */
#include "catch.h"
#include "sandbox.h"

#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "connections.h"
}

namespace {

#include "recorded_connections.inc"

constexpr size_t HEAD_BYTES = 16, SPORT_AT = HEAD_BYTES + 4, PEER_AT = HEAD_BYTES + 24, COOKIE_AT = HEAD_BYTES + 44;

/* Asked for the port of the recorded server, and knowing on what the node listens. */
connections &fresh(const char *ports = "7001")
{
    static struct connections connections;
    connections = {};
    REQUIRE(connections_ask_for(&connections, ports));
    connections_know_mounts(&connections, "");
    CHECK(connections_take_listened(&connections, recorded_listened, sizeof recorded_listened) == 0);
    connections_know_listened(&connections);
    return connections;
}

void look(connections &connections, const void *messages = recorded_connections, size_t bytes = sizeof recorded_connections)
{
    connections_begin(&connections);
    connections.error = connections_take(&connections, messages, bytes);
    if (connections.error == 0)
        connections_end(&connections);
}

const connection_slot *find(const connections &connections, const std::string &ending)
{
    for (unsigned i = 0; i < connections.slots_used; i++) {
        std::string name = connections.slots[i].name;
        if (name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0)
            return &connections.slots[i];
    }
    return nullptr;
}

/* The client's message of the recorded dump, for as many connections as are wanted, each with a number and a port of its own. */
std::vector<unsigned char> crowd(unsigned count)
{
    const unsigned char *at = recorded_connections;
    uint32_t length;
    for (uint16_t port; memcpy(&length, at, 4), memcpy(&port, at + SPORT_AT, 2), port == __builtin_bswap16(7001);)
        at += length;
    std::vector<unsigned char> messages;
    for (uint32_t i = 0; i < count; i++) {
        std::vector<unsigned char> one(at, at + length);
        uint16_t port = __builtin_bswap16((uint16_t)(10000 + i));
        uint32_t cookie = 500000 + i;
        memcpy(&one[SPORT_AT], &port, 2);
        memcpy(&one[COOKIE_AT], &cookie, 4);
        messages.insert(messages.end(), one.begin(), one.end());
    }
    const unsigned char done[20] = { 20, 0, 0, 0, 3 };
    messages.insert(messages.end(), done, done + sizeof done);
    return messages;
}

/* The server's message, from as many clients as are wanted, each with two connections. */
std::vector<unsigned char> clients(unsigned count)
{
    const unsigned char *at = recorded_connections;
    uint32_t length;
    for (uint16_t port; memcpy(&length, at, 4), memcpy(&port, at + SPORT_AT, 2), port != __builtin_bswap16(7001);)
        at += length;
    std::vector<unsigned char> messages;
    for (uint32_t i = 0; i < 2 * count; i++) {
        std::vector<unsigned char> one(at, at + length);
        uint32_t cookie = 700000 + i, address = __builtin_bswap32(0x0a000001 + i / 2);
        memcpy(&one[COOKIE_AT], &cookie, 4);
        memcpy(&one[PEER_AT], &address, 4);
        messages.insert(messages.end(), one.begin(), one.end());
    }
    const unsigned char done[20] = { 20, 0, 0, 0, 3 };
    messages.insert(messages.end(), done, done + sizeof done);
    return messages;
}

/* Of a node with a monitor of Ceph, all of whose connections were met at the last look. */
connections &fresh_server()
{
    connections &connections = fresh("");
    connections.by_client = connections.is_whole = true;
    connections.listened[6789 / 64] |= 1ull << 6789 % 64;
    connections_know_listened(&connections);
    connections.was_whole = true;
    return connections;
}

uint64_t sum(const connections &connections, unsigned column)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < connections.slots_used; i++)
        sum += connections.slots[i].now[column];
    return sum;
}

} // namespace

TEST_CASE("a new connection counts from its begin, both ends by name", "[connections]")
{
    connections &connections = fresh();
    connections.is_whole = true; /* the look before found none */
    look(connections);
    CHECK(connections.error == 0);
    REQUIRE(connections.slots_used == 2);
    const connection_slot *client = find(connections, " from port 32982"), *server = find(connections, " to port 7001");
    REQUIRE(client != nullptr);
    REQUIRE(server != nullptr);
    CHECK(std::string(client->name) == "127.0.0.1:7001 from port 32982");
    CHECK(std::string(client->source) == "127.0.0.1");
    CHECK(std::string(server->name) == "127.0.0.1:32982 to port 7001");
    CHECK(client->now[node_connections_sent_bytes] == 100001);
    CHECK(client->now[node_connections_received_bytes] == 0);
    CHECK(client->now[node_connections_sent_segments] == 5);
    CHECK(client->now[node_connections_retransmissions] == 0);
    CHECK(client->now[node_connections_round_trip_ns] == 26000);
    CHECK(client->now[node_connections_congestion_window] == 13);
    CHECK(client->now[node_connections_unacknowledged] == 0);
    CHECK(client->now[node_connections_connections] == 1);
    CHECK(server->now[node_connections_received_bytes] == 100000);
    CHECK(server->now[node_connections_sent_segments] == 2);
    look(connections);
    CHECK(client->now[node_connections_sent_bytes] == 100001); /* nothing came since, and levels do not add up */
    CHECK(client->now[node_connections_congestion_window] == 13);
}

TEST_CASE("what a connection had counted before the first look is of no slice", "[connections]")
{
    connections &connections = fresh();
    look(connections);
    CHECK(connections.slots_used == 2);
    CHECK(sum(connections, node_connections_sent_bytes) == 0);
    CHECK(sum(connections, node_connections_connections) == 2);
}

TEST_CASE("an old connection that is looked for only now, since something was mounted, counts from now on", "[connections]")
{
    connections &connections = fresh("");
    look(connections);
    CHECK(connections.is_whole);
    connections_begin(&connections);
    CHECK(connections_ask_for(&connections, "7001"));
    connections_know_mounts(&connections, "");
    connections_know_listened(&connections);
    CHECK(connections_take(&connections, recorded_connections, sizeof recorded_connections) == 0);
    CHECK(connections.slots_used == 2);
    CHECK(sum(connections, node_connections_sent_bytes) == 0);
}

TEST_CASE("connections of no file server are passed over", "[connections]")
{
    connections &connections = fresh("7002,7100-7200");
    connections.is_whole = true;
    look(connections);
    CHECK(connections.error == 0);
    CHECK(connections.slots_used == 0);
}

TEST_CASE("one that a look passed over is the same when it is back", "[connections]")
{
    connections &connections = fresh();
    connections.is_whole = true;
    look(connections);
    std::vector<unsigned char> none = crowd(0);
    for (int i = 0; i < 3; i++)
        look(connections, none.data(), none.size());
    CHECK(sum(connections, node_connections_connections) == 0);
    look(connections);
    CHECK(sum(connections, node_connections_sent_bytes) == 100001);
    for (int i = 0; i < 40; i++)
        look(connections, none.data(), none.size());
    CHECK(connections.all[0].cookie == 0); /* its place is free again */
}

TEST_CASE("connections after the first are added up in one row, and what is beyond all room is counted as missing", "[connections]")
{
    connections &connections = fresh();
    connections.is_whole = true;
    unsigned many = GENERATE(64u, 65u, 200u, 4096u, 4100u), held = many < CONNECTIONS_MAX ? many : (unsigned)CONNECTIONS_MAX;
    std::vector<unsigned char> messages = crowd(many);
    look(connections, messages.data(), messages.size());
    CHECK(connections.error == 0);
    CHECK(connections.slots_used == (many > CONNECTIONS_NAMED_MAX ? (unsigned)CONNECTION_SLOTS : many));
    CHECK((find(connections, "all other connections") != nullptr) == (many > CONNECTIONS_NAMED_MAX));
    CHECK(sum(connections, node_connections_sent_bytes) == 100001 * held);
    CHECK(sum(connections, node_connections_connections) == held);
    CHECK(connections.left_out == many - held);
    if (many > CONNECTIONS_NAMED_MAX) {
        CHECK(find(connections, "all other connections")->now[node_connections_connections] == held - CONNECTIONS_NAMED_MAX);
        CHECK(find(connections, "all other connections")->now[node_connections_round_trip_ns] == 26000);
    }
}

/* Port 7001 is one of Ceph's, whose monitor is known by port 6789. */
TEST_CASE("of a file server's clients each has one row a service, and other servers of a pool are none", "[connections]")
{
    connections &connections = fresh_server();
    unsigned many = GENERATE(1u, 3u, 1024u, 1030u);
    std::vector<unsigned char> messages = clients(many);
    look(connections, messages.data(), messages.size());
    CHECK(connections.error == 0);
    CHECK(connections.slots_used == (many > CONNECTION_CLIENTS_MAX ? (unsigned)CONNECTION_CLIENT_SLOTS : many));
    CHECK(std::string(connections.slots[0].name) == "10.0.0.1");
    REQUIRE(connections.slots[0].service != nullptr);
    CHECK(std::string(connections.slots[0].service->types[0]) == "ceph");
    CHECK_FALSE(connections.slots[0].is_server);
    CHECK(connections.slots[0].now[node_connections_received_bytes] == 200000);
    CHECK(sum(connections, node_connections_received_bytes) == 200000 * many);
    look(connections); /* both ends of one on this node: to a server of the same pool */
    const connection_slot *own = find(connections, "127.0.0.1");
    CHECK((own == nullptr) == (many >= CONNECTION_CLIENTS_MAX));
    if (own != nullptr)
        CHECK(own->is_server);
}

TEST_CASE("one that ended since the last look is counted, and its place is free", "[connections]")
{
    connections &connections = fresh_server();
    std::vector<unsigned char> ended = clients(1);
    ended[HEAD_BYTES + 1] = 7;
    CHECK(connections_take(&connections, ended.data(), ended.size()) >= 0);
    CHECK(sum(connections, node_connections_received_bytes) == 200000); /* of two connections */
    CHECK(connections.followed == 1);
}

TEST_CASE("answers that are cut or damaged harm nobody, and nothing is counted twice after them", "[connections][fuzz]")
{
    for (size_t bytes = 0; bytes < sizeof recorded_connections; bytes++) {
        connections &connections = fresh();
        connections.is_whole = true;
        std::vector<unsigned char> cut(recorded_connections, recorded_connections + bytes);
        look(connections, cut.data(), cut.size());
        REQUIRE(connections.error != 0);
        REQUIRE_FALSE(connections.is_whole);
        look(connections);
        REQUIRE(connections.error == 0);
        REQUIRE(sum(connections, node_connections_sent_bytes) <= 100003);
    }
    for (size_t at = 0; at < sizeof recorded_connections; at++)
        for (unsigned char hostile : { 0x00, 0x01, 0x7f, 0xff }) {
            connections &connections = fresh();
            std::vector<unsigned char> damaged(recorded_connections, recorded_connections + sizeof recorded_connections);
            damaged[at] = hostile;
            look(connections, damaged.data(), damaged.size());
            REQUIRE(connections.slots_used <= 2);
        }
    const unsigned char refused[20 + 16] = { 36, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff };
    connections &connections = fresh();
    look(connections, refused, sizeof refused);
    CHECK(connections.error == -2); /* ENOENT: the kernel has no sock_diag */
}

TEST_CASE("ports of file servers are known by mounts, by what the node listens on, and by the setting", "[connections]")
{
    static struct connections connections;
    auto ports = [](const struct ports &ports) {
        std::string text;
        for (unsigned i = 0; i < ports.used; i++)
            text += std::to_string(ports.ranges[i].first) + "-" + std::to_string(ports.ranges[i].last) + " ";
        return text;
    };
    connections = {};
    connections_know_mounts(&connections, "/dev/sda1 / ext4 rw,port=77 0 0\n10.0.0.1:/home /home nfs4 rw,port=20490,addr=10.0.0.1 0 0\n");
    CHECK(ports(connections.remote) == "2049-2049 20490-20490 ");
    connections_know_mounts(&connections, "s:/v /v fuse.glusterfs rw 0 0\nmgs@tcp:/x /x lustre rw 0 0\nu@h:/ /h fuse.sshfs rw 0 0\nn:/a /a nfs rw,port=0 0 0");
    CHECK(ports(connections.remote) == "24007-24008 49152-49251 988-988 22-22 2049-2049 ");
    for (const char *text : { "", "\n", "a", "a b", "a b nfs", "a b nfs\n", "a b nfs4 port=", "a b nfs4 port=99999999999 0 0\n" }) {
        connections_know_mounts(&connections, text);
        CHECK(connections.remote.used <= 1);
    }
    connections.listened[2049 / 64] |= 1ull << 2049 % 64;
    connections_know_listened(&connections);
    CHECK(ports(connections.served) == "2049-2049 ");
    CHECK(connections_ask_for(&connections, "2222,49152-60999"));
    connections_know_mounts(&connections, "");
    CHECK(ports(connections.remote) == "2222-2222 49152-60999 ");
    for (const char *text : { ",", "a", "0", "65536", "1-", "-1", "5-4", "1,", "1,,2", "1 2", "1-2-3" }) {
        CAPTURE(text);
        CHECK_FALSE(connections_ask_for(&connections, text));
    }
    CHECK(ports(connections.asked) == "2222-2222 49152-60999 ");
    CHECK(connections_ask_for(&connections, ""));
    CHECK(connections.asked.used == 0);
}
