/* Files into frames. Files are taken in waves, so that not all of their bytes lie in memory at once; within a wave all envelopes are found
 * first, then frames are unpacked and decoded on all threads, as if nothing were damaged, and then each file is walked as it really is. */
#include "inside.h"

#include "format.h"
#define WITH_SCHEMA_FRAME
#include "schema_frame.inc"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAVE_BYTES ((size_t)64 << 20)
#define LITTLE_BYTES ((size_t)128 << 10) /* so little is read sooner than a thread begins */
enum { FRAMES_AT_ONCE = 16 };

int slicewise_reader_interface(void)
{
    return READER_INTERFACE;
}

struct reader *slicewise_reader_new(unsigned threads, reader_meet_schema *meet_schema, void *context)
{
    struct reader *reader = calloc(1, sizeof *reader);
    cpu_set_t usable;
    if (reader == NULL)
        return NULL;
    if (threads == 0)
        threads = sched_getaffinity(0, sizeof usable, &usable) == 0 ? (unsigned)CPU_COUNT(&usable) : 1;
    reader->thread_count = threads < THREADS_MAX ? threads : THREADS_MAX;
    reader->meet_schema = meet_schema;
    reader->context = context;
    for (unsigned i = 0; i < THREADS_MAX; i++)
        reader->workers[i].reader = reader;
    pthread_mutex_init(&reader->schema_lock, NULL);
    unpack_prepare();
    return reader;
}

void slicewise_reader_free(struct reader *reader)
{
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        struct worker *worker = &reader->workers[i];
        arena_free(&worker->arena);
        ZSTD_freeDCtx(worker->unpacker);
        free(worker->payload.bytes);
        for (unsigned s = 0; s < SCRATCHES; s++)
            free(worker->scratches[s].bytes);
    }
    for (unsigned i = 0; i < reader->schema_count; i++)
        schema_free(reader->schemas[i]);
    for (uint32_t i = 0; reader->files != NULL && i < reader->file_count; i++) {
        free(reader->files[i].bytes);
        free(reader->files[i].frames.items);
        free(reader->files[i].holes.items);
    }
    free(reader->files);
    free(reader->taken.items);
    free(reader->holes.items);
    free(reader->losses.items);
    free(reader->unfinished.items);
    free(reader->chunks);
    free(reader->sources);
    free(reader->first_schemas);
    pthread_mutex_destroy(&reader->schema_lock);
    free(reader);
}

/* All bytes of a file, or the first `most`. Returns 0 or -errno. */
static int read_bytes(struct file *file, size_t most)
{
    int descriptor = open(file->told->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (descriptor < 0)
        return -errno;
    int result = fstat(descriptor, &status) < 0 ? -errno : S_ISREG(status.st_mode) ? 0 : -EINVAL;
    if (result == 0) {
        size_t size = most > 0 && (size_t)status.st_size > most ? most : (size_t)status.st_size;
        file->size = 0;
        file->bytes = malloc(size + 1);
        result = file->bytes == NULL ? -ENOMEM : 0;
        while (result == 0 && file->size < size) {
            ssize_t got = read(descriptor, file->bytes + file->size, size - file->size);
            if (got <= 0) { /* a file that became shorter ends there */
                result = got == 0 || errno == EINTR ? 0 : -errno;
                if (got == 0)
                    break;
                continue;
            }
            file->size += (size_t)got;
        }
    }
    close(descriptor);
    return result;
}

static void read_schema(struct worker *worker, struct frame *frame, const unsigned char *packed)
{
    struct reader *reader = worker->reader;
    int found = schema_find_packed(reader, frame->schema_id, packed, frame->packed_bytes);
    if (found < 0) {
        size_t bytes;
        const unsigned char *text = unpack_payload(worker, packed, frame->packed_bytes, &bytes);
        frame->state = text == NULL ? FRAME_UNSOUND : FRAME_BAD_SCHEMA;
        found = text != NULL ? schema_meet(worker, frame->schema_id, packed, frame->packed_bytes, text, bytes) : -1;
    }
    if (found >= 0) {
        frame->state = FRAME_SCHEMA;
        frame->schema = (uint32_t)found;
    }
}

/* Unpacks and decodes a frame, whose bytes are all there. `may_wait`: where its schema is unknown, it may become known. */
static void read_frame(struct worker *worker, struct frame *frame, const unsigned char *packed, bool may_wait)
{
    struct reader *reader = worker->reader;
    size_t bytes;
    if (frame->process == 0) {
        read_schema(worker, frame, packed);
        return;
    }
    const unsigned char *payload = unpack_payload(worker, packed, frame->packed_bytes, &bytes);
    if (payload == NULL) {
        frame->state = FRAME_UNSOUND;
        return;
    }
    int schema = schema_find(reader, frame->schema_id);
    if (schema >= 0) {
        frame->schema = (uint32_t)schema;
        frame->state = chunk_decode(worker, reader->schemas[schema], payload, bytes, frame) ? FRAME_DECODED : FRAME_BAD_PAYLOAD;
        return;
    }
    frame->state = FRAME_BAD_PAYLOAD;
    void *copy = may_wait ? arena_take(&worker->arena, frame->packed_bytes) : NULL;
    if (copy != NULL) {
        frame->packed = memcpy(copy, packed, frame->packed_bytes);
        frame->state = FRAME_PENDING;
    }
}

static struct frame *add_frame(struct worker *worker, struct list *frames, const struct format_envelope *envelope, size_t at)
{
    struct frame *frame = list_add(frames, sizeof *frame);
    if (frame == NULL) {
        worker->reader->is_out_of_memory = true;
        return NULL;
    }
    *frame = (struct frame){ .begin = at,
                             .end = at + sizeof *envelope + envelope->packed_bytes,
                             .process = envelope->process,
                             .number = envelope->frame_number,
                             .flags = envelope->flags,
                             .schema_id = envelope->schema,
                             .packed_bytes = envelope->packed_bytes };
    return frame;
}

static const unsigned char *packed_of(const struct file *file, const struct frame *frame)
{
    return file->bytes + frame->begin + sizeof(struct format_envelope);
}

/* The frames that there are if none is damaged. */
static void find_frames(struct worker *worker, struct file *file)
{
    struct format_envelope envelope;
    file->is_regular = true;
    for (size_t at = 0; at < file->size;) {
        if (!unpack_envelope(file->bytes, file->size, at, &envelope)) {
            file->is_regular = false;
            at = unpack_next_envelope(file->bytes, file->size, at + 1);
            continue;
        }
        struct frame *frame = add_frame(worker, &file->frames, &envelope, at);
        if (frame == NULL)
            return;
        if (frame->end > file->size) {
            file->is_regular = false;
            frame->state = FRAME_UNSOUND;
            at = unpack_next_envelope(file->bytes, file->size, at + 1);
            continue;
        }
        if (frame->process == 0)
            read_schema(worker, frame, packed_of(file, frame));
        at = frame->end;
    }
}

static void add_hole(struct worker *worker, struct file *file, size_t begin, size_t end, const struct format_envelope *envelope)
{
    struct reader_hole *hole = list_add(&file->holes, sizeof *hole);
    if (hole == NULL) {
        worker->reader->is_out_of_memory = true;
        return;
    }
    *hole = (struct reader_hole){ .begin = begin, .end = end, .file = (uint32_t)(file - worker->reader->files) };
    if (envelope != NULL) {
        hole->has_process = envelope->process != 0;
        hole->process = envelope->process;
        hole->number = envelope->frame_number;
    }
}

/* Goes through a file that is damaged somewhere: a frame that is not sound may hold others. What was decoded is used. */
static void walk(struct worker *worker, struct file *file)
{
    struct list found = file->frames, kept = { 0 };
    struct format_envelope envelope;
    size_t next = 0;
    for (size_t at = 0, end; at < file->size && !worker->reader->is_out_of_memory; at = end) {
        if (!unpack_envelope(file->bytes, file->size, at, &envelope)) {
            end = unpack_next_envelope(file->bytes, file->size, at + 1);
            add_hole(worker, file, at, end, NULL);
            continue;
        }
        struct frame *frame = add_frame(worker, &kept, &envelope, at);
        if (frame == NULL)
            break;
        while (next < found.count && ((struct frame *)found.items)[next].begin < at)
            next++;
        if (next < found.count && ((struct frame *)found.items)[next].begin == at)
            *frame = ((struct frame *)found.items)[next];
        else if (frame->end > file->size)
            frame->state = FRAME_UNSOUND;
        else
            read_frame(worker, frame, packed_of(file, frame), true);
        end = frame->end;
        if (frame->state == FRAME_UNSOUND) {
            end = unpack_next_envelope(file->bytes, file->size, at + 1);
            add_hole(worker, file, at, end, &envelope);
            kept.count--;
        }
    }
    free(found.items);
    file->frames = kept;
}

static bool is_all_sound(const struct file *file)
{
    const struct frame *frames = file->frames.items;
    for (size_t i = 0; i < file->frames.count; i++)
        if (frames[i].state == FRAME_UNSOUND)
            return false;
    return file->is_regular;
}

/* The files of a wave, and their frames, a few at a time. */
struct part {
    struct file *file;
    size_t first, count;
};

struct wave {
    struct file *files;
    size_t most_bytes, count, bytes;
    struct list parts;
};

static void begin_file(struct worker *worker, size_t i, void *argument)
{
    struct wave *wave = argument;
    struct file *file = &wave->files[i];
    worker->file = (uint32_t)(file - worker->reader->files);
    int result = read_bytes(file, wave->most_bytes);
    file->told->error = -result;
    file->told->bytes = file->size;
    if (result < 0)
        return;
    uint32_t head[2];
    if (file->size >= 12 && memcmp(file->bytes + 8, "SWZ", 3) == 0) {
        memcpy(head, file->bytes, sizeof head);
        if (head[0] == FORMAT_ENVELOPE_MAGIC && head[1] == sizeof(struct format_envelope) - 8)
            file->told->marker = file->bytes[11];
    }
    find_frames(worker, file);
}

static void read_part(struct worker *worker, size_t i, void *argument)
{
    struct part *part = (struct part *)((struct wave *)argument)->parts.items + i;
    struct frame *frames = (struct frame *)part->file->frames.items + part->first;
    for (size_t k = 0; k < part->count; k++)
        if (frames[k].state == FRAME_UNREAD)
            read_frame(worker, &frames[k], packed_of(part->file, &frames[k]), true);
}

static void end_file(struct worker *worker, size_t i, void *argument)
{
    struct file *file = &((struct wave *)argument)->files[i];
    worker->file = (uint32_t)(file - worker->reader->files);
    if (!is_all_sound(file))
        walk(worker, file);
    free(file->bytes);
    file->bytes = NULL;
}

/* Returns how many of the files, from the first on, make a wave. */
static size_t plan_wave(struct file *files, size_t count, size_t most_bytes, size_t *bytes)
{
    struct stat status;
    size_t taken = 0;
    for (*bytes = 0; taken < count && *bytes < WAVE_BYTES; taken++) {
        size_t size = stat(files[taken].told->path, &status) == 0 ? (size_t)status.st_size : 0;
        *bytes += most_bytes > 0 && size > most_bytes ? most_bytes : size;
    }
    return taken;
}

static int load_wave(struct reader *reader, struct wave *wave)
{
    bool is_little = wave->bytes < LITTLE_BYTES;
    work_in_parallel(reader, wave->count, is_little, begin_file, wave);
    for (size_t i = 0; i < wave->count; i++)
        for (size_t first = 0; first < wave->files[i].frames.count; first += FRAMES_AT_ONCE) {
            struct part *part = list_add(&wave->parts, sizeof *part);
            size_t left = wave->files[i].frames.count - first;
            if (part == NULL)
                return -ENOMEM;
            *part = (struct part){ &wave->files[i], first, left < FRAMES_AT_ONCE ? left : FRAMES_AT_ONCE };
        }
    work_in_parallel(reader, wave->parts.count, is_little, read_part, wave);
    work_in_parallel(reader, wave->count, is_little, end_file, wave);
    return reader->is_out_of_memory ? -ENOMEM : 0;
}

static void meet_our_schema(struct worker *worker)
{
    struct format_envelope envelope;
    memcpy(&envelope, schema_frame, sizeof envelope);
    read_schema(worker, &(struct frame){ .schema_id = envelope.schema, .packed_bytes = envelope.packed_bytes }, schema_frame + sizeof envelope);
}

/* Frames whose schema came after them, or in another file, or in none. */
static void read_pending(struct reader *reader)
{
    struct worker *worker = &reader->workers[0];
    for (uint32_t i = 0; i < reader->file_count; i++) {
        struct frame *frames = reader->files[i].frames.items;
        worker->file = i;
        for (size_t k = 0; k < reader->files[i].frames.count; k++) {
            if (frames[k].state != FRAME_PENDING)
                continue;
            if (frames[k].schema_id == SCHEMA_ID && schema_find(reader, SCHEMA_ID) < 0)
                meet_our_schema(worker);
            read_frame(worker, &frames[k], frames[k].packed, false);
        }
    }
}

int slicewise_reader_load(struct reader *reader, struct reader_file *files, uint32_t count, uint32_t sources, uint64_t most_bytes)
{
    if (reader->files != NULL)
        return -EINVAL;
    for (uint32_t i = 0; i < count; i++)
        if (files[i].source >= sources || (i > 0 && files[i].source < files[i - 1].source))
            return -EINVAL;
    reader->files = calloc((size_t)count + 1, sizeof *reader->files);
    if (reader->files == NULL)
        return -ENOMEM;
    reader->file_count = count;
    reader->source_count = sources;
    for (uint32_t i = 0; i < count; i++)
        reader->files[i].told = &files[i];
    for (uint32_t begun = 0; begun < count;) {
        struct wave wave = { .files = reader->files + begun, .most_bytes = most_bytes };
        wave.count = plan_wave(wave.files, count - begun, most_bytes, &wave.bytes);
        int result = load_wave(reader, &wave);
        free(wave.parts.items);
        if (result < 0)
            return result;
        begun += (uint32_t)wave.count;
    }
    read_pending(reader);
    int result = reader->is_out_of_memory ? -ENOMEM : book_make(reader);
    for (uint32_t i = 0; i < count; i++)
        reader->files[i].told = NULL; /* the caller's, from here on */
    return result;
}
