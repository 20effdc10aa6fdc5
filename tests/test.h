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

/* Fails with a message of its own. */
#define check_that(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg(__VA_ARGS__);                                                                 \
    } while (0)

#endif
