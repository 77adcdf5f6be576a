#include "spool_reader.h"

#include "engine_headers.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <zstd.h>

namespace {

struct Column {
    std::string name;
    bool is_string;
};

struct Table {
    std::string name;
    std::vector<Column> columns;
};

bool is_string(const char *type)
{
    return std::strcmp(type, "STRING") == 0;
}

std::vector<Table> read_schema()
{
    std::vector<Table> tables;
#define TABLE(name, rows, meaning) tables.push_back({ #name, {} });
#define COLUMN(table, name, type, ...) tables.back().columns.push_back({ #name, is_string(#type) });
#include "tables.def"
    auto &slices = tables.at(TABLE_slices).columns;
    auto add_bins = [&slices](const std::string &name, int bins) {
        for (int i = 0; i < bins; i++)
            slices.push_back({ name + "_" + std::to_string(i), false });
    };
#define COUNTER(name, unit, merge, meaning) slices.push_back({ #name, false });
#define BINS(name, bins, unit, merge, meaning, edges) add_bins(#name, bins);
#include "counters.def"
    return tables;
}

/* A payload as it is read: every take checks what is left. */
struct Bytes {
    const unsigned char *at;
    size_t left;

    const unsigned char *take(size_t size)
    {
        if (size > left)
            throw std::runtime_error("the payload ends in the middle of a chunk");
        const unsigned char *taken = at;
        at += size;
        left -= size;
        return taken;
    }

    uint64_t take_number(size_t width)
    {
        uint64_t value = 0;
        std::memcpy(&value, take(width), width);
        return value;
    }
};

void read_numbers(Bytes &bytes, const std::string &column, std::vector<Row> &rows)
{
    uint64_t layout = bytes.take_number(1), width = layout & 0x0f, base = (layout & 0x80) != 0 ? bytes.take_number(8) : 0;
    if (width != 0 && width != 1 && width != 2 && width != 4 && width != 8)
        throw std::runtime_error("a column of numbers has a width that there is not");
    for (Row &row : rows)
        row.number[column] = base + bytes.take_number(width);
}

void read_strings(Bytes &bytes, const std::string &column, std::vector<Row> &rows)
{
    std::vector<uint64_t> lengths;
    for (size_t i = 0; i < rows.size(); i++)
        lengths.push_back(bytes.take_number(2));
    for (size_t i = 0; i < rows.size(); i++)
        rows[i].text[column] = std::string((const char *)bytes.take(lengths[i]), lengths[i]);
}

/* Size of the zstd frame with its payload decoded, or 0 if there is no sound one. */
bool unpack(const unsigned char *packed, size_t size, std::vector<unsigned char> &payload)
{
    unsigned long long content = ZSTD_getFrameContentSize(packed, size);
    if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN || content > 64u << 20)
        return false;
    payload.resize(content);
    return ZSTD_decompress(payload.data(), payload.size(), packed, size) == content;
}

} // namespace

uint64_t Row::operator[](const std::string &column) const
{
    auto found = number.find(column);
    return found == number.end() ? 0 : found->second;
}

Tables decode_payload(const unsigned char *payload, size_t size)
{
    static const std::vector<Table> schema = read_schema();
    Tables tables;
    Bytes bytes = { payload, size };
    while (bytes.left > 0) {
        const Table &table = schema.at(bytes.take_number(1));
        uint64_t count = bytes.take_number(4);
        if (count == 0 || count > 1u << 20)
            throw std::runtime_error("a chunk has no rows, or too many");
        const unsigned char *present = bytes.take((table.columns.size() + 7) / 8);
        std::vector<Row> rows(count);
        for (size_t i = 0; i < table.columns.size(); i++)
            if ((present[i / 8] >> (i % 8) & 1) != 0)
                (table.columns[i].is_string ? read_strings : read_numbers)(bytes, table.columns[i].name, rows);
        auto &all = tables[table.name];
        all.insert(all.end(), rows.begin(), rows.end());
    }
    return tables;
}

Spool read_spool(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    const std::vector<unsigned char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Spool spool;
    std::set<std::pair<uint64_t, uint32_t>> known;
    std::vector<unsigned char> payload;
    for (size_t at = 0; at < bytes.size();) {
        format_envelope envelope;
        size_t left = bytes.size() - at;
        bool is_sound = left > sizeof envelope;
        if (is_sound) {
            std::memcpy(&envelope, bytes.data() + at, sizeof envelope);
            is_sound = envelope.magic == 0x184D2A53 && envelope.skipped_bytes == 32 && envelope.marker == 0x315A5753 &&
                       envelope.packed_bytes <= left - sizeof envelope &&
                       unpack(bytes.data() + at + sizeof envelope, envelope.packed_bytes, payload);
        }
        if (!is_sound) {
            spool.bytes_passed_over++;
            at++;
            continue;
        }
        at += sizeof envelope + envelope.packed_bytes;
        if (envelope.process == 0)
            spool.schema_frames++;
        else if (!known.insert({ envelope.process, envelope.frame_number }).second)
            spool.repeated++;
        else
            spool.frames.push_back({ envelope.process, envelope.frame_number, envelope.flags, decode_payload(payload.data(), payload.size()) });
    }
    return spool;
}

std::vector<Row> Spool::rows(const std::string &table) const
{
    std::vector<Row> all;
    for (const Frame &frame : frames) {
        auto found = frame.tables.find(table);
        if (found != frame.tables.end())
            all.insert(all.end(), found->second.begin(), found->second.end());
    }
    return all;
}

uint64_t Spool::sum(const std::string &table, const std::string &column) const
{
    uint64_t sum = 0;
    for (const Row &row : rows(table))
        sum += row[column];
    return sum;
}

bool Spool::is_gapless() const
{
    std::map<uint64_t, std::set<uint32_t>> numbers;
    for (const Frame &frame : frames)
        numbers[frame.process].insert(frame.number);
    for (const auto &[process, of_process] : numbers)
        if (*of_process.rbegin() + 1 != of_process.size())
            return false;
    return true;
}
