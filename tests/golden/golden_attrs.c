/* What a golden case gives: inputs and attributes. */
#include "tests/golden/golden.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void golden_fail(golden *c, const char *format, ...)
{
    if (c->reason[0])
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(c->reason, sizeof c->reason, format, list);
    va_end(list);
}

/* Walks through "dim|axis": copies the next name, false at the end. */
static bool next_name(const char **names, char *name, size_t size)
{
    size_t n = strcspn(*names, "|");
    if (!n || n >= size)
        return false;
    memcpy(name, *names, n);
    name[n] = '\0';
    *names += n + ((*names)[n] == '|');
    return true;
}

wg_value *golden_in_maybe(golden *c, const char *names)
{
    char name[64];
    while (next_name(&names, name, sizeof name))
        for (int i = 0; i < c->n_in; i++)
            if (strcmp(c->in[i].name, name) == 0) {
                c->in[i].used = true;
                return c->in[i].value;
            }
    return NULL;
}

wg_value *golden_in(golden *c, const char *names)
{
    wg_value *v = golden_in_maybe(c, names);
    if (!v)
        golden_fail(c, "input %s is missing", names);
    return v;
}

bool golden_has(const golden *c, const char *names)
{
    char name[64];
    while (next_name(&names, name, sizeof name)) {
        json_t *v = json_object_get(c->attrs, name);
        if (v && !json_is_null(v))
            return true;
    }
    return false;
}

/* Takes an attribute out of those left over; the caller owns it.  NULL if there is none, or if it
 * is null. */
static json_t *take(golden *c, const char *names)
{
    char name[64];
    json_t *found = NULL;
    while (next_name(&names, name, sizeof name)) {
        json_t *v = json_object_get(c->attrs, name);
        if (v && !json_is_null(v) && !found)
            found = json_incref(v);
        json_object_del(c->attrs, name);
    }
    return found;
}

double golden_real(golden *c, const char *names, double otherwise)
{
    json_t *v = take(c, names);
    if (v && !json_is_number(v))
        golden_fail(c, "attribute %s: expected a number", names);
    double x = v ? json_number_value(v) : otherwise;
    json_decref(v);
    return x;
}

int64_t golden_int(golden *c, const char *names, int64_t otherwise)
{
    int64_t x = otherwise;
    return golden_ints(c, names, &x, 1, 1) < 0 ? otherwise : x;
}

bool golden_bool(golden *c, const char *names, bool otherwise)
{
    json_t *v = take(c, names);
    if (v && !json_is_boolean(v) && !json_is_integer(v))
        golden_fail(c, "attribute %s: expected true or false", names);
    bool x = v ? json_is_true(v) || json_integer_value(v) != 0 : otherwise;
    json_decref(v);
    return x;
}

const char *golden_text(golden *c, const char *names, const char *otherwise)
{
    json_t *v = take(c, names);
    const char *text = otherwise;
    if (v && !json_is_string(v))
        golden_fail(c, "attribute %s: expected a text", names);
    if (json_is_string(v)) {
        size_t size = strlen(json_string_value(v)) + 1;
        char *copy = wg_graph_alloc(c->graph, size);
        if (copy)
            text = memcpy(copy, json_string_value(v), size);
    }
    json_decref(v);
    return text;
}

int golden_ints(golden *c, const char *names, int64_t *out, int max, int repeat)
{
    json_t *v = take(c, names);
    int n = -1;
    if (json_is_integer(v)) {
        for (n = 0; n < repeat; n++)
            out[n] = json_integer_value(v);
    } else if (json_is_array(v) && json_array_size(v) <= (size_t)max) {
        for (n = 0; n < (int)json_array_size(v); n++) {
            out[n] = json_integer_value(json_array_get(v, (size_t)n));
            if (!json_is_integer(json_array_get(v, (size_t)n)))
                golden_fail(c, "attribute %s: expected integers", names);
        }
    } else if (v) {
        golden_fail(c, "attribute %s: expected up to %d integers", names, max);
    }
    json_decref(v);
    return n;
}

void golden_reals(golden *c, const char *names, double *out, int max)
{
    json_t *v = take(c, names);
    for (int i = 0; v && i < max; i++) {
        const json_t *x = json_is_array(v) ? json_array_get(v, (size_t)i) : v;
        if (!json_is_number(x))
            golden_fail(c, "attribute %s: expected a number or %d", names, max);
        out[i] = json_number_value(x);
    }
    json_decref(v);
}

bool golden_is_text(const golden *c, const char *name)
{
    return json_is_string(json_object_get(c->attrs, name));
}

/* Fits in an int: that it fits the operand, the op checks. */
static int as_axis(golden *c, const char *names, int64_t axis)
{
    if (axis < INT_MIN || axis > INT_MAX)
        golden_fail(c, "attribute %s: %lld is no axis", names, (long long)axis);
    return (int)axis;
}

int golden_axis(golden *c, const char *names, int otherwise)
{
    return as_axis(c, names, golden_int(c, names, otherwise));
}

wg_axes golden_axes(golden *c, const char *names)
{
    int64_t axis[WG_MAX_RANK];
    wg_axes axes = {0};
    int n = golden_ints(c, names, axis, WG_MAX_RANK, 1);
    for (; axes.count < n; axes.count++)
        axes.axis[axes.count] = as_axis(c, names, axis[axes.count]);
    return axes;
}

/* "x2" before "x10": shorter names first, then by letters. */
static int by_name(const void *a, const void *b)
{
    const char *p = ((const golden_input *)a)->name, *q = ((const golden_input *)b)->name;
    size_t n = strlen(p), m = strlen(q);
    return n != m ? (n < m ? -1 : 1) : strcmp(p, q);
}

int golden_all(golden *c, wg_value **x)
{
    qsort(c->in, (size_t)c->n_in, sizeof *c->in, by_name);
    for (int i = 0; i < c->n_in; i++) {
        x[i] = c->in[i].value;
        c->in[i].used = true;
    }
    return c->n_in;
}

wg_value *golden_as_bool(wg_value *x)
{
    return x && x->dtype != WG_BOOL ? wg_cast(x, WG_BOOL) : x;
}

void golden_give(golden *c, wg_value *y)
{
    if (c->n_out < GOLDEN_TENSORS)
        c->out[c->n_out++] = y;
}

void golden_give_results(golden *c, wg_value *y, int n)
{
    for (int i = 0; i < n; i++)
        golden_give(c, wg_result_of(y, i));
}

bool golden_is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}
