/* Where variables lie: those that are touched together share pages, for each page that a process touches costs it a microsecond or two. */
#ifndef SLICEWISE_SECTIONS_H
#define SLICEWISE_SECTIONS_H

/* START_DATA: what every process touches at its beginning. HOME_DATA: what one that counted something touches when it brings that home. */
#if defined(__x86_64__)
#define START_DATA __attribute__((section("start_data,\"aw\",@nobits#")))
#define HOME_DATA __attribute__((section("home_data,\"aw\",@nobits#")))
#else /* where `#` begins no comment of the assembler's */
#define START_DATA
#define HOME_DATA
#endif

#endif
