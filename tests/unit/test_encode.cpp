#include "catch.h"
#include "sandbox.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <tuple>

namespace {

struct Encoded {
    std::vector<unsigned char> buffer;
    struct encoder encoder;

    explicit Encoded(size_t room = 1 << 20) : buffer(room), encoder{ buffer.data(), buffer.data(), buffer.data() + room, false } {}
    size_t size() const { return (size_t)(encoder.at - encoder.begin); }
    Tables decoded() const { return decode_payload(buffer.data(), size()); }
};

uint64_t value_of_bits(std::mt19937_64 &random, unsigned bits)
{
    return bits == 0 ? 0 : random() >> (64 - bits);
}

} // namespace

TEST_CASE("numbers of every width come back as they were", "[encode]")
{
    std::mt19937_64 random(GENERATE(1, 2, 3, 4, 5));
    Sandbox sandbox;
    Segment segment(sandbox);
    for (int round = 0; round < 60; round++) {
        unsigned bits = (unsigned)(random() % 65), base_bits = (unsigned)(random() % 65), count = 1 + (unsigned)(random() % 40);
        std::vector<uint64_t> rows;
        for (unsigned i = 0; i < count * CALL_COLUMNS; i++)
            rows.push_back(value_of_bits(random, base_bits) / 2 + value_of_bits(random, bits) / 2);
        Encoded encoded;
        encode_table(&encoded.encoder, segment.home.segment, TABLE_calls, rows.data(), count);
        auto decoded = encoded.decoded().at("calls");
        REQUIRE(decoded.size() == count);
        for (unsigned i = 0; i < count; i++) {
            REQUIRE(decoded[i]["operation"] == rows[i * CALL_COLUMNS + calls_operation]);
            REQUIRE(decoded[i]["calls"] == rows[i * CALL_COLUMNS + calls_calls]);
        }
    }
}

TEST_CASE_METHOD(OneSegment, "a column that differs little from a large base takes a byte a row", "[encode]")
{
    std::vector<uint64_t> rows;
    for (uint64_t i = 0; i < 100; i++)
        rows.insert(rows.end(), { 425000000000 + i, 0 });
    Encoded encoded;
    encode_table(&encoded.encoder, segment.home.segment, TABLE_calls, rows.data(), 100);
    CHECK(encoded.size() == 1 + 4 + 1 + 1 + 8 + 100);
    CHECK(encoded.decoded().at("calls")[99]["operation"] == 425000000099);
}

TEST_CASE_METHOD(OneSegment, "the extremes of a column, and none at all", "[encode]")
{
    const uint64_t rows[] = { 0, UINT64_MAX, UINT64_MAX, UINT64_MAX };
    Encoded encoded;
    encode_table(&encoded.encoder, segment.home.segment, TABLE_calls, rows, 2);
    encode_table(&encoded.encoder, segment.home.segment, TABLE_mishaps, rows, 0);
    auto tables = encoded.decoded();
    CHECK(tables.at("calls")[0]["operation"] == 0);
    CHECK(tables.at("calls")[1]["operation"] == UINT64_MAX);
    CHECK(tables.at("calls")[0]["calls"] == UINT64_MAX);
    CHECK(tables.count("mishaps") == 0);
}

TEST_CASE_METHOD(OneSegment, "strings come back, the empty one among them", "[encode]")
{
    const std::string points[] = { "/scratch", "", "/a \"b\"\n\xc3\xa9", std::string(3000, 'x') };
    std::vector<uint64_t> rows(4 * MOUNT_COLUMNS);
    for (unsigned i = 0; i < 4; i++) {
        rows[i * MOUNT_COLUMNS + mounts_mount] = i;
        rows[i * MOUNT_COLUMNS + mounts_point] = segment_add_text(&segment.home, points[i].c_str());
    }
    Encoded encoded;
    encode_table(&encoded.encoder, segment.home.segment, TABLE_mounts, rows.data(), 4);
    auto decoded = encoded.decoded().at("mounts");
    for (unsigned i = 0; i < 4; i++) {
        CHECK(decoded[i]["mount"] == i);
        CHECK(decoded[i].text["point"] == points[i]);
        CHECK(decoded[i].text.count("type") == 0); /* all empty: absent */
    }
}

TEST_CASE_METHOD(OneSegment, "paths are masked as the segment asks, and other texts are not", "[encode]")
{
    const std::string paths[] = { "/home/anna/a.dat", "b.dat", "", "/ends/in/" };
    std::vector<uint64_t> rows(4 * FILE_COLUMNS);
    for (unsigned i = 0; i < 4; i++) {
        rows[i * FILE_COLUMNS + files_file] = i + 1;
        rows[i * FILE_COLUMNS + files_path] = segment_add_text(&segment.home, paths[i].c_str());
    }
    auto shown = [&](uint32_t names) {
        segment.home.segment->names = names;
        Encoded encoded;
        encode_table(&encoded.encoder, segment.home.segment, TABLE_files, rows.data(), 4);
        std::vector<std::string> texts;
        auto decoded = encoded.decoded().at("files");
        for (auto &row : decoded)
            texts.push_back(row.text["path"]);
        return texts;
    };
    CHECK(shown(NAMES_full) == std::vector<std::string>(paths, paths + 4));
    CHECK(shown(NAMES_base) == std::vector<std::string>{ "a.dat", "b.dat", "", "in/" });
    auto hashes = shown(NAMES_hash);
    CHECK(hashes[0] == "46d686106ccd9ea7");
    CHECK(hashes[1] != hashes[0]);
    CHECK(hashes[2].empty());
    segment.home.segment->names_key[0] = 1;
    CHECK(shown(NAMES_hash)[0] != hashes[0]);

    std::vector<uint64_t> mount(MOUNT_COLUMNS);
    mount[mounts_point] = segment_add_text(&segment.home, "/scratch");
    Encoded encoded;
    encode_table(&encoded.encoder, segment.home.segment, TABLE_mounts, mount.data(), 1);
    CHECK(encoded.decoded().at("mounts")[0].text["point"] == "/scratch");
}

TEST_CASE("records come back with every counter and bin in its column", "[encode]")
{
    std::mt19937_64 random(7);
    std::vector<record> records(RECORDS_MAX);
    std::memset(records.data(), 0, records.size() * sizeof(record));
    for (record &record : records) {
        record.slice = 425000000 + random() % 100;
        record.mount = (uint32_t)(random() % MOUNTS_MAX);
        record.layer = (uint32_t)(random() % LAYERS);
        for (uint64_t &counter : record.counts.counter)
            counter = value_of_bits(random, (unsigned)(random() % 65));
        for (uint32_t &bin : record.counts.bin)
            bin = (uint32_t)random();
    }
    Encoded encoded;
    encode_records(&encoded.encoder, records.data(), RECORDS_MAX);
    auto rows = encoded.decoded().at("slices");
    REQUIRE(rows.size() == RECORDS_MAX);
    for (size_t i = 0; i < rows.size(); i++) {
        const record &record = records[RECORDS_MAX - 1 - i];
        REQUIRE(rows[i]["slice"] == record.slice);
        REQUIRE(rows[i]["mount"] == record.mount);
        REQUIRE(rows[i]["layer"] == record.layer);
#define COUNTER(name, unit, merge, meaning) REQUIRE(rows[i][#name] == record.counts.counter[COUNTER_##name]);
#define BINS(name, bins, unit, merge, meaning, edges) \
    for (int bin = 0; bin < (bins); bin++) \
        REQUIRE(rows[i][#name "_" + std::to_string(bin)] == record.counts.bin[BINS_##name + bin]);
#include "counters.def"
    }
}

TEST_CASE_METHOD(OneSegment, "records of one slice, mount and layer are one row: sums, and of the slowest the slowest", "[encode]")
{
    std::mt19937_64 random(11);
    std::vector<record> records(RECORDS_MAX);
    std::map<std::tuple<uint64_t, uint64_t, uint64_t>, std::array<uint64_t, 3>> expected, decoded;
    for (record &record : records) {
        std::memset(&record, 0, sizeof record);
        record.slice = 7 + random() % 3;
        record.mount = (uint32_t)(random() % 2);
        record.layer = (uint32_t)(random() % 2);
        record.counts.counter[COUNTER_write_bytes] = random() >> 40;
        record.counts.counter[COUNTER_write_slowest_ns] = random() >> 40;
        record.counts.bin[BINS_write_latency + 5] = (uint32_t)(random() >> 32);
        auto &sums = expected[{ record.slice, record.mount, record.layer }];
        sums[0] += record.counts.counter[COUNTER_write_bytes];
        sums[1] = std::max(sums[1], record.counts.counter[COUNTER_write_slowest_ns]);
        sums[2] += record.counts.bin[BINS_write_latency + 5];
    }
    Encoded encoded;
    encode_records(&encoded.encoder, records.data(), RECORDS_MAX);
    auto rows = encoded.decoded().at("slices");
    CHECK(rows.size() == expected.size());
    for (const Row &row : rows)
        decoded[{ row["slice"], row["mount"], row["layer"] }] = { row["write_bytes"], row["write_slowest_ns"], row["write_latency_5"] };
    CHECK(decoded == expected);
}

TEST_CASE_METHOD(OneSegment, "a buffer that is too small is noted, and nothing is written beyond it", "[encode]")
{
    std::vector<uint64_t> rows(FILES_MAX * FILE_COLUMNS, UINT64_MAX / 2);
    std::string path(200, 'p');
    uint64_t text = segment_add_text(&segment.home, path.c_str());
    for (unsigned i = 0; i < FILES_MAX; i++) {
        rows[i * FILE_COLUMNS + files_path] = text;
        rows[i * FILE_COLUMNS + files_read_ns] = i;
    }
    Encoded whole;
    encode_table(&whole.encoder, segment.home.segment, TABLE_files, rows.data(), FILES_MAX);
    REQUIRE_FALSE(whole.encoder.is_overflowing);
    size_t room = GENERATE(64, 500, 1000, 5000, 60000, 100000);
    REQUIRE(room < whole.size());
    Encoded encoded(room + 64);
    encoded.encoder.end -= 64;
    std::memset(encoded.encoder.end, 0x5a, 64);
    encode_table(&encoded.encoder, segment.home.segment, TABLE_files, rows.data(), FILES_MAX);
    CHECK(encoded.encoder.is_overflowing);
    for (unsigned i = 0; i < 64; i++)
        REQUIRE(encoded.encoder.end[i] == 0x5a);
}
