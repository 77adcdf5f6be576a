/* Signals as the kernel's masks have them. */
#ifndef SLICEWISE_SIGNALS_H
#define SLICEWISE_SIGNALS_H

#include <signal.h>

#define ALL_SIGNALS_BYTES 8
#define SIGNAL_BIT(number) (1ull << ((number) - 1))

#endif
