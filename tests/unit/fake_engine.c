#include "fake_engine.h"

#include "adopt.h"
#include "descriptor.h"
#include "identity.h"
#include "kernel.h"
#include "mount.h"
#include "name.h"
#include "state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct engine engine;
static _Atomic uint32_t is_counting = ENGINE_OFF;
_Atomic uint32_t *engine_switch = &is_counting;
void (*engine_before_end)(void);

void engine_prepare(void)
{
}

bool engine_start(void)
{
    return atomic_load(engine_switch) == ENGINE_ON;
}

void notice_problem(enum problem kind, const char *detail)
{
    (void)detail;
    segment_count_problem(engine.home.segment, kind);
}

void notice_problems_of_store(void)
{
}

void engine_say(const char *format, const char *first, const char *second, const char *third)
{
    (void)format, (void)first, (void)second, (void)third;
}

/* What libc writes when the process ends is tested where a process ends: tests/endtoend/test_stdio.py. */
void engine_will_write(uint32_t mount, uint64_t bytes, uint64_t more)
{
    (void)mount, (void)bytes, (void)more;
}

uint32_t engine_pid(void)
{
    return (uint32_t)getpid();
}

void engine_count_problem(enum problem kind, uint64_t times)
{
    engine.home.segment->problems[kind] += times;
}

void *engine_real(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

void fake_engine_start(const char *dir, uint64_t slice_ns)
{
    engine = (struct engine){ .job = "job", .settings = { .dir = dir, .job = "job", .slice_ns = slice_ns } };
    clock_start(false);
    if (segment_create(&engine.home, dir, "job.1") < 0) {
        fprintf(stderr, "unit: no segment in %s\n", dir);
        abort();
    }
    descriptor_forget_all();
    name_forget();
    struct segment *segment = engine.home.segment;
    segment->pid_namespace = adopt_pid_namespace();
    segment->process_row[processes_start_ns] = clock_read(CLOCK_REALTIME);
    identity_fill(&engine.home, &engine.settings, engine.job);
    mount_start(&engine.home);
    kernel_start(&engine.home, false, 0);
    kernel_awaits_first_call = false; /* no call started this engine */
    atomic_store(&segment->state, SEGMENT_LIVE);
    thread_state = (struct thread){ 0 };
    atomic_store(engine_switch, ENGINE_ON);
}

void fake_engine_stop(void)
{
    atomic_store(engine_switch, ENGINE_OFF);
    thread_state = (struct thread){ 0 };
    if (engine.home.segment != NULL)
        segment_unmap(&engine.home);
}
