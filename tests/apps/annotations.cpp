// A program with DFTracer's annotations of C and C++: annotations FILE; and, with -DSTAND_IN, a library with the same interface that traces nothing.
// -DTYPED: as in DFTracer's version 2.
#include <fcntl.h>
#include <thread>
#include <unistd.h>

enum TraceEventType { ANY };
#ifdef TYPED
#define TYPE , TraceEventType type = ANY
#else
#define TYPE
#endif
enum { DATA, NOTE };

class DFTracer
{
    bool is_open;

  public:
    DFTracer(const char *name, const char *category, int kind TYPE);
    void finalize();
    ~DFTracer();
};
struct DFTracerData {
    void *profiler;
};
extern "C" {
DFTracerData *initialize_region(const char *name, const char *category, int kind);
void finalize_region(DFTracerData *data);
}

#ifdef STAND_IN
#undef TYPE
#ifdef TYPED
#define TYPE , TraceEventType
#else
#define TYPE
#endif
DFTracer::DFTracer(const char *, const char *, int TYPE) : is_open(true)
{
}
void DFTracer::finalize()
{
    is_open = false;
}
DFTracer::~DFTracer()
{
    if (is_open)
        finalize();
}
DFTracerData *initialize_region(const char *name, const char *category, int kind)
{
    return new DFTracerData{ new DFTracer(name, category, kind) };
}
void finalize_region(DFTracerData *data)
{
    static_cast<DFTracer *>(data->profiler)->finalize();
    delete static_cast<DFTracer *>(data->profiler);
    delete data;
}
#else
static int fd;

static void put(size_t bytes)
{
    static const char zeros[1000] = {};
    if (pwrite(fd, zeros, bytes, 0) != (ssize_t)bytes)
        _exit(1);
}

static void refuse()
{
    DFTracer function("refuse", "CPP_APP", DATA);
    put(32);
    throw 1;
}

int main(int, char **argument)
{
    fd = open(argument[1], O_RDWR | O_CREAT, 0600);
    DFTracerData *outer = initialize_region("in C", "C_APP", DATA), *inner = initialize_region("within", "C_APP", DATA);
    put(1);
    finalize_region(inner);
    put(2);
    finalize_region(initialize_region("a key", "a value", NOTE));
    put(4);
    finalize_region(outer);
    {
        DFTracer scope("scope", "CPP_APP", DATA);
        put(8);
    }
    auto *begun = new DFTracer("begun", "CPP_APP", DATA);
    put(16);
    begun->finalize();
    put(64);
    delete begun;
    try {
        refuse();
    } catch (int) {
    }
    std::thread([] {
        for (int i = 0; i < 3; i++) {
            DFTracer step("step", "CPP_APP", DATA);
            put(128);
        }
    }).join();
    return 0;
}
#endif
