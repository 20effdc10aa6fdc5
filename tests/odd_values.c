#include "tests/odd_values.h"

#include <math.h>

static const int64_t ints[] = {INT64_MIN, INT64_MIN + 1, INT32_MIN, -1000, -9, -1, 0, 1, 2, 3, 8,
                               9,         INT32_MAX,     INT64_MAX};
static const double reals[] = {NAN, INFINITY, -INFINITY, -1, 0, 1, 2, 1e308, -1e308, 1e-308};
static const wg_axes axes[] = {{0, {0}},         {-1, {0}},        {9, {0}},
                               {INT32_MAX, {0}}, {1, {8}},         {1, {-9}},
                               {1, {INT32_MAX}}, {1, {INT32_MIN}}, {2, {0, 0}},
                               {2, {0, -1}},     {3, {0, 1, 2}},   {8, {0, 1, 2, 3, 4, 5, 6, 7}},
                               {2, {1, 1}}};
static const wg_shape shapes[] = {{0, {0}},
                                  {-1, {0}},
                                  {9, {0}},
                                  {INT32_MAX, {0}},
                                  {1, {-1}},
                                  {1, {-2}},
                                  {1, {INT64_MIN}},
                                  {1, {INT64_MAX}},
                                  {1, {0}},
                                  {2, {-1, -1}},
                                  {2, {0, -1}},
                                  {2, {INT64_C(1) << 32, INT64_C(1) << 32}},
                                  {2, {INT64_MAX, INT64_MAX}},
                                  {3, {INT64_C(1) << 31, INT64_C(1) << 31, -1}},
                                  {8, {1, 1, 1, 1, 1, 1, 1, 1}},
                                  {2, {3, 4}}};
static const int enums[] = {INT32_MIN, -1, 0, 1, 2, 1000, INT32_MAX};
static const int dtypes[] = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 1000};
static const wg_data datas[] = {{NULL, 0}, {NULL, 8}, {"0123456", 8}, {"0123456", 1}};
static const char *const texts[] = {
    NULL, "", "?", "->", "ij,jk->ik", "iiiiiiiiiiiiiiii->i", "a,b->c", ",", "...", "\xff\xfe"};

const odd_value_list odd_values[] = {
    [WG_ATTR_INT] = {ints, sizeof ints[0], WG_COUNT(ints)},
    [WG_ATTR_REAL] = {reals, sizeof reals[0], WG_COUNT(reals)},
    [WG_ATTR_BOOL] = {(const bool[]){false, true}, sizeof(bool), 2},
    [WG_ATTR_ENUM] = {enums, sizeof enums[0], WG_COUNT(enums)},
    [WG_ATTR_DTYPE] = {dtypes, sizeof dtypes[0], WG_COUNT(dtypes)},
    [WG_ATTR_AXES] = {axes, sizeof axes[0], WG_COUNT(axes)},
    [WG_ATTR_SHAPE] = {shapes, sizeof shapes[0], WG_COUNT(shapes)},
    [WG_ATTR_TEXT] = {texts, sizeof texts[0], WG_COUNT(texts)},
    [WG_ATTR_AXIS] = {ints, sizeof ints[0], WG_COUNT(ints)},
    [WG_ATTR_KEY] = {ints, sizeof ints[0], WG_COUNT(ints)},
    [WG_ATTR_DATA] = {datas, sizeof datas[0], WG_COUNT(datas)},
};
