/* Tensors of a file of golden vectors, of whatever dtype, as numbers. */
#ifndef WG_TESTS_GOLDEN_FILE_H
#define WG_TESTS_GOLDEN_FILE_H

#include "wengert.h"

/* Floats are computed in f64, integers as i64 (i32 stays), bool as bool. */
wg_dtype golden_dtype(const wg_file_tensor *t);
/* Element i; as a double, which holds every integer that a test uses. */
double golden_element(const wg_file_tensor *t, int64_t i);
/* Element i of computed data. */
double golden_number(const void *data, wg_dtype dtype, int64_t i);
/* All of t as that dtype. */
void golden_fill(void *data, wg_dtype dtype, const wg_file_tensor *t);

#endif
