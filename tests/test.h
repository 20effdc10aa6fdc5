/* What every test includes: cmocka with its prerequisites in the right order. */
#ifndef WG_TESTS_TEST_H
#define WG_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Whether an address or thread sanitizer watches, which takes time and memory: gcc has a macro for
 * each, clang 14 has features.  A test that does the same to many numbers, models or updates then
 * takes fewer: they run the same code. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Fails with a message of its own. */
#define check_that(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg(__VA_ARGS__);                                                                 \
    } while (0)

#endif
