/* DFTracer's annotations of C and C++ (DFTRACER_C_REGION_START, DFTRACER_CPP_FUNCTION, ...): what a program marks by them is a region. Its library makes an
 * object of class DFTracer for each, in versions 1 and 2, also for C. For any thread; DFTracer's own functions are called as well. */
#include "interpose.h"
#include "regions.h"

enum { DATA_EVENT = 0 }; /* DF_DATA_EVENT: others are notes */
static const char mark_dftracer[] __attribute__((used)) = "_ZN8DFTracer8finalizeEv"; /* where this is, the names are DFTracer's */

#define ANNOTATION(symbol, parameters) \
    __attribute__((used)) static void(*real_##symbol) parameters; /* NOLINT(bugprone-macro-parentheses) */ \
    static const char symbol_of_##symbol[] = #symbol; \
    HIDDEN void wrapper_##symbol parameters; \
    ENTRY_MARKED(symbol, mark_dftracer); \
    HIDDEN void wrapper_##symbol parameters

/* DFTracer(name, category, kind), in version 2 with a type behind them. */
#define BEGIN(symbol) \
    ANNOTATION(symbol, (void *self, const char *name, const char *category, int kind, int type)) \
    { \
        REAL_NEAR(symbol)(self, name, category, kind, type); \
        if (kind == DATA_EVENT && name != NULL) \
            regions_begin_object(self, name); \
    }
/* Of finalize() and the destructor one may call the other: the first of them counts. */
#define END(symbol) \
    ANNOTATION(symbol, (void *self)) \
    { \
        regions_end_object(self); \
        REAL_NEAR(symbol)(self); \
    }
BEGIN(_ZN8DFTracerC1EPKcS1_i)
BEGIN(_ZN8DFTracerC2EPKcS1_i)
BEGIN(_ZN8DFTracerC1EPKcS1_i14TraceEventType)
BEGIN(_ZN8DFTracerC2EPKcS1_i14TraceEventType)
END(_ZN8DFTracer8finalizeEv)
END(_ZN8DFTracerD1Ev)
END(_ZN8DFTracerD2Ev)
