/* Reads what the engine wrote, by docs/format.md alone and with none of the engine's code: frames, and sums over their rows. */
#ifndef SLICEWISE_TESTS_SPOOL_READER_H
#define SLICEWISE_TESTS_SPOOL_READER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/* Numbers and strings of a row by column; bins are `name_0` and so on. Absent columns are 0, or empty. */
struct Row {
    std::map<std::string, uint64_t> number;
    std::map<std::string, std::string> text;
    uint64_t operator[](const std::string &column) const;
};

using Tables = std::map<std::string, std::vector<Row>>;

/* Decodes a payload. Throws std::runtime_error where it is not sound. */
Tables decode_payload(const unsigned char *bytes, size_t size);

struct Frame {
    uint64_t process;
    uint32_t number, flags;
    Tables tables;
};

struct Spool {
    std::vector<Frame> frames; /* as they lie in the file; a (process, number) that comes again is left out */
    unsigned schema_frames = 0, repeated = 0;
    size_t bytes_passed_over = 0;

    std::vector<Row> rows(const std::string &table) const;
    uint64_t sum(const std::string &table, const std::string &column) const;
    /* Whether every process's frames are numbered from 0 without a gap. */
    bool is_gapless() const;
};

Spool read_spool(const std::string &path);

#endif
