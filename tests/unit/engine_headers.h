/* The engine's headers, for tests in C++: the system's headers first, outside `extern "C"`. */
#ifndef SLICEWISE_TESTS_ENGINE_HEADERS_H
#define SLICEWISE_TESTS_ENGINE_HEADERS_H

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define _Static_assert static_assert
#include "cplusplus/stdatomic.h"

extern "C" {
#include "adopt.h"
#include "clock.h"
#include "descriptor.h"
#include "encode.h"
#include "engine.h"
#include "files.h"
#include "format.h"
#include "identity.h"
#include "job_page.h"
#include "keep.h"
#include "kernel.h"
#include "lane.h"
#include "mount.h"
#include "name.h"
#include "peek.h"
#include "record.h"
#include "request.h"
#include "segment.h"
#include "settings.h"
#include "spool.h"
#include "state.h"
#include "statmount.h"
#include "unwind.h"
#include "volume.h"
#include "fast_path.h"

#include "visit.h"

#include "fake_engine.h"
#include "fake_system.h"
}

#endif
