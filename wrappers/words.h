/* Parameters of a function of which no more is known than how many words it takes. */
#ifndef SLICEWISE_WORDS_H
#define SLICEWISE_WORDS_H

#include <stdint.h>

/* An argument: an int (of whose register or place on the stack only the lower half is defined), a handle, an address. */
typedef uintptr_t word;

#define PARAMETERS_1 word a1
#define PARAMETERS_2 PARAMETERS_1, word a2
#define PARAMETERS_3 PARAMETERS_2, word a3
#define PARAMETERS_4 PARAMETERS_3, word a4
#define PARAMETERS_5 PARAMETERS_4, word a5
#define PARAMETERS_6 PARAMETERS_5, word a6
#define PARAMETERS_7 PARAMETERS_6, word a7
#define PARAMETERS_8 PARAMETERS_7, word a8
#define PARAMETERS_9 PARAMETERS_8, word a9
#define PARAMETERS_10 PARAMETERS_9, word a10
#define PARAMETERS_11 PARAMETERS_10, word a11
#define PARAMETERS_12 PARAMETERS_11, word a12
#define PARAMETERS_13 PARAMETERS_12, word a13
#define PARAMETERS_14 PARAMETERS_13, word a14
#define ARGUMENTS_1 a1
#define ARGUMENTS_2 ARGUMENTS_1, a2
#define ARGUMENTS_3 ARGUMENTS_2, a3
#define ARGUMENTS_4 ARGUMENTS_3, a4
#define ARGUMENTS_5 ARGUMENTS_4, a5
#define ARGUMENTS_6 ARGUMENTS_5, a6
#define ARGUMENTS_7 ARGUMENTS_6, a7
#define ARGUMENTS_8 ARGUMENTS_7, a8
#define ARGUMENTS_9 ARGUMENTS_8, a9
#define ARGUMENTS_10 ARGUMENTS_9, a10
#define ARGUMENTS_11 ARGUMENTS_10, a11
#define ARGUMENTS_12 ARGUMENTS_11, a12
#define ARGUMENTS_13 ARGUMENTS_12, a13
#define ARGUMENTS_14 ARGUMENTS_13, a14

#endif
