#include "record.h"

#include "format.h"
#include "spool.h"

#include <string.h>

size_t frames_before(const unsigned char *frames, size_t bytes, uint32_t number)
{
    struct format_envelope envelope;
    size_t at = 0;
    while (bytes - at > sizeof envelope) {
        memcpy(&envelope, frames + at, sizeof envelope);
        if (envelope.frame_number >= number || envelope.packed_bytes > bytes - at - sizeof envelope)
            break;
        at += sizeof envelope + envelope.packed_bytes;
    }
    return at;
}

int drain_frames(struct segment_home *home)
{
    struct segment *segment = home->segment;
    union commit commit = { .word = atomic_load(&segment->commit) };
    if (commit.frame_bytes == 0)
        return 0;
    size_t collected = frames_before(segment->frames, commit.frame_bytes, collected_frames(segment));
    int appended = collected == commit.frame_bytes ? 0 : spool_append(segment, segment->frames + collected, commit.frame_bytes - collected);
    if (appended < 0)
        return appended;
    commit.frame_bytes = 0;
    atomic_store(&segment->commit, commit.word);
    return 0;
}

int drain_past_segment(struct segment_home *home, const void *frame, size_t bytes)
{
    int drained = drain_frames(home);
    return drained < 0 ? drained : spool_append(home->segment, frame, bytes);
}
