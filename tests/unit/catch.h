/* Catch2, version 2 or 3, whichever is there. */
#ifndef SLICEWISE_TESTS_CATCH_H
#define SLICEWISE_TESTS_CATCH_H

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#endif
