#include "ops/steps.h"
#include "wengert/ops/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the ops --------------------------------------------------------------------------------- */

/* is_cheap: about as fast as moving what it reads and writes to memory. */
static const struct {
    const wg_op *op;
    const char *dtypes;
    bool is_cheap;
} ops[] = {
    {&wg_op_add, "ff:f", true},         {&wg_op_sub, "ff:f", true},
    {&wg_op_mul, "ff:f", true},         {&wg_op_div, "ff:f", true},
    {&wg_op_pow, "ff:f", false},        {&wg_op_remainder, "ff:f", false},
    {&wg_op_atan2, "ff:f", false},      {&wg_op_maximum, "ff:f", true},
    {&wg_op_minimum, "ff:f", true},     {&wg_op_neg, "f:f", true},
    {&wg_op_abs, "f:f", true},          {&wg_op_sign, "f:f", true},
    {&wg_op_square, "f:f", true},       {&wg_op_exp, "f:f", false},
    {&wg_op_log, "f:f", false},         {&wg_op_log1p, "f:f", false},
    {&wg_op_expm1, "f:f", false},       {&wg_op_sqrt, "f:f", true},
    {&wg_op_rsqrt, "f:f", true},        {&wg_op_reciprocal, "f:f", true},
    {&wg_op_sin, "f:f", false},         {&wg_op_cos, "f:f", false},
    {&wg_op_tan, "f:f", false},         {&wg_op_asin, "f:f", false},
    {&wg_op_acos, "f:f", false},        {&wg_op_atan, "f:f", false},
    {&wg_op_sinh, "f:f", false},        {&wg_op_cosh, "f:f", false},
    {&wg_op_erf, "f:f", false},         {&wg_op_floor, "f:f", true},
    {&wg_op_ceil, "f:f", true},         {&wg_op_round, "f:f", true},
    {&wg_op_clamp, "f:f", true},        {&wg_op_tanh, "f:f", false},
    {&wg_op_relu, "f:f", true},         {&wg_op_relu_grad, "ff:f", true},
    {&wg_op_leaky_relu, "f:f", true},   {&wg_op_elu, "f:f", false},
    {&wg_op_sigmoid, "f:f", false},     {&wg_op_silu, "f:f", false},
    {&wg_op_silu_grad, "ff:f", false},  {&wg_op_softplus, "f:f", false},
    {&wg_op_gelu, "f:f", false},        {&wg_op_gelu_grad, "ff:f", false},
    {&wg_op_equal, "ff:b", true},       {&wg_op_not_equal, "ff:b", true},
    {&wg_op_less, "ff:b", true},        {&wg_op_less_equal, "ff:b", true},
    {&wg_op_greater, "ff:b", true},     {&wg_op_greater_equal, "ff:b", true},
    {&wg_op_logical_and, "bb:b", true}, {&wg_op_logical_or, "bb:b", true},
    {&wg_op_logical_xor, "bb:b", true}, {&wg_op_logical_not, "b:b", true},
    {&wg_op_where, "bff:f", true},      {&wg_op_cast, "b:f", true},
    {&wg_op_clamp_grad, "ff:f", true},  {&wg_op_maximum_grad, "fff:f", true},
    {&wg_op_hardswish, "f:f", true},    {&wg_op_hardswish_grad, "ff:f", true},
};

const char *wgi_step_dtypes(const wg_op *op)
{
    for (int i = 0; i < WG_COUNT(ops); i++)
        if (ops[i].op == op)
            return ops[i].dtypes;
    return NULL;
}

bool wgi_step_is_cheap(const wg_op *op)
{
    for (int i = 0; i < WG_COUNT(ops); i++)
        if (ops[i].op == op)
            return ops[i].is_cheap;
    return false;
}

/* ---- attributes: all are numbers here -------------------------------------------------------- */

/* A cast goes to the float dtype of the node. */
static int attrs_in_text(const wg_op *op)
{
    return op == &wg_op_cast ? 0 : op->n_attrs;
}

static double get_attr(const wg_attr *a, const void *attrs)
{
    const char *at = (const char *)attrs + a->offset;
    return a->kind == WG_ATTR_REAL ? *(const double *)(const void *)at
                                   : *(const int *)(const void *)at;
}

static void set_attr(const wg_attr *a, void *attrs, double x)
{
    char *at = (char *)attrs + a->offset;
    if (a->kind == WG_ATTR_REAL)
        *(double *)(void *)at = x;
    else
        *(int *)(void *)at = (int)x;
}

/* 10^d for 0 <= d <= 22, exactly. */
static double power_of_ten(int d)
{
    double x = 1;
    for (int i = 0; i < d; i++)
        x *= 10;
    return x;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_char(const char **at, char c)
{
    if (**at != c)
        return false;
    ++*at;
    return true;
}

/* A letter and a number below `end`. */
static bool read_name(const char **at, char letter, int end, int *index)
{
    char *after;
    if (**at != letter || (*at)[1] < '0' || (*at)[1] > '9')
        return false;
    long n = strtol(*at + 1, &after, 10);
    *index = (int)n;
    *at = after;
    return n >= 0 && n < end;
}

/* Digits as a whole number below 2^63, and how many there were. */
static uint64_t read_digits(const char **at, int *n)
{
    uint64_t x = 0;
    for (*n = 0; **at >= '0' && **at <= '9' && *n < 18; ++*n)
        x = 10 * x + (uint64_t)(*(*at)++ - '0');
    return x;
}

/* k / 10^d or m 2^e, as put_number writes them. */
static bool read_number(const char **at, double *x)
{
    double sign = read_char(at, '-') ? -1 : 1;
    int whole, after = 0;
    if (strncmp(*at, "inf", 3) == 0 || strncmp(*at, "nan", 3) == 0) {
        *x = sign * (double)(**at == 'i' ? INFINITY : NAN);
        *at += 3;
        return true;
    }
    uint64_t k = read_digits(at, &whole);
    if (read_char(at, '.')) {
        uint64_t rest = read_digits(at, &after);
        for (int i = 0; i < after; i++)
            k *= 10;
        k += rest;
    }
    *x = sign * (double)k / power_of_ten(after);
    if (read_char(at, 'p')) {
        bool down = read_char(at, '-');
        int digits, e = (int)read_digits(at, &digits);
        *x = ldexp(*x, down ? -e : e);
        return whole && digits && digits < 6 && !after;
    }
    return whole && whole + after < 18;
}

static bool read_op(const char **at, wgi_element_step *s)
{
    size_t length = strcspn(*at, "[(");
    for (int i = 0; i < WG_COUNT(ops) && !s->op; i++)
        if (strlen(ops[i].op->name) == length && strncmp(ops[i].op->name, *at, length) == 0)
            s->op = ops[i].op;
    *at += length;
    if (!s->op || !attrs_in_text(s->op))
        return s->op;
    double x;
    for (int k = 0; k < attrs_in_text(s->op); k++) {
        if (!read_char(at, k ? ',' : '[') || !read_number(at, &x) ||
            (s->op->attrs[k].kind != WG_ATTR_REAL && !(x >= 0 && x < 100)))
            return false;
        set_attr(&s->op->attrs[k], s->attrs.bytes, x);
    }
    return read_char(at, ']');
}

/* One of the steps before step n, by its name. */
static bool read_earlier(const char **at, const wgi_element_step *step, int n, wgi_term *t)
{
    bool is_result = **at == 'y';
    int index, seen = 0;
    if (!read_name(at, is_result ? 'y' : 't', n, &index))
        return false;
    t->kind = WGI_TERM_STEP;
    for (t->index = 0; t->index < n; t->index++)
        if ((step[t->index].result >= 0) == is_result && seen++ == index)
            return true;
    return false;
}

static bool read_term(const char **at, const wgi_element_step *step, int n, wgi_term *t)
{
    *t = (wgi_term){.kind = WGI_TERM_OPERAND};
    if (**at == 'x')
        return read_name(at, 'x', WGI_STEP_OPERANDS, &t->index);
    if (**at == 't' || **at == 'y')
        return read_earlier(at, step, n, t);
    t->kind = WGI_TERM_NUMBER;
    return read_number(at, &t->number);
}

/* Step n. */
static bool read_step(const char **at, wgi_element_step *step, int n)
{
    wgi_element_step *s = &step[n];
    int results = 0, index;
    *s = (wgi_element_step){.result = -1};
    for (int i = 0; i < n; i++)
        results += step[i].result >= 0;
    bool is_result = **at == 'y';
    if (!read_name(at, is_result ? 'y' : 't', WGI_STEPS, &index) ||
        index != (is_result ? results : n - results) ||
        index >= (is_result ? WGI_STEP_RESULTS : n + 1))
        return false;
    s->result = is_result ? index : -1;
    if (!read_char(at, '=') || !read_op(at, s))
        return false;
    s->n_in = (int)strcspn(wgi_step_dtypes(s->op), ":");
    for (int k = 0; k < s->n_in; k++)
        if (!read_char(at, k ? ',' : '(') || !read_term(at, step, n, &s->in[k]))
            return false;
    return read_char(at, ')');
}

int wgi_steps_read(const char *text, wgi_element_step step[WGI_STEPS])
{
    int n = 0;
    while (text && *text && n < WGI_STEPS) {
        if ((n && !read_char(&text, ' ')) || !read_step(&text, step, n))
            return -1;
        n++;
    }
    return text && !*text ? n : -1;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct writer {
    char *text;
    size_t size, used;
} writer;

static void put(writer *w, const char *format, ...) WG_PRINTF(2, 3);
static void put(writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    size_t room = w->used < w->size ? w->size - w->used : 0;
    int n = vsnprintf(room ? w->text + w->used : NULL, room, format, list);
    w->used += n > 0 ? (size_t)n : 0;
    va_end(list);
}

/* A short decimal fraction if there is one, else m 2^e as "mpe": by whole numbers alone, so that no
 * locale changes it. */
static void put_number(writer *w, double x)
{
    enum { MOST = 9 };
    double size = fabs(x);
    put(w, "%s", signbit(x) ? "-" : "");
    if (!isfinite(x)) {
        put(w, isnan(x) ? "nan" : "inf");
        return;
    }
    for (int d = 0; d <= MOST && size < 1e6; d++) {
        double tens = power_of_ten(d), k = rint(size * tens);
        uint64_t whole = (uint64_t)k / (uint64_t)tens, rest = (uint64_t)k % (uint64_t)tens;
        if (k / tens != size)
            continue;
        put(w, "%" PRIu64, whole);
        if (d)
            put(w, ".%0*" PRIu64, d, rest);
        return;
    }
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(size, &e), 53);
    for (e -= 53; m % 2 == 0; e++)
        m /= 2;
    put(w, "%" PRIu64 "p%d", m, e);
}

/* t or y and its number among those. */
static void put_name(writer *w, const wgi_element_step *step, int n)
{
    int before = 0;
    for (int i = 0; i < n; i++)
        before += step[i].result < 0;
    if (step[n].result >= 0)
        put(w, "y%d", step[n].result);
    else
        put(w, "t%d", before);
}

static void put_step(writer *w, const wgi_element_step *step, int n)
{
    const wgi_element_step *s = &step[n];
    put_name(w, step, n);
    put(w, "=%s", s->op->name);
    for (int k = 0; k < attrs_in_text(s->op); k++)
        put(w, k ? "," : "["), put_number(w, get_attr(&s->op->attrs[k], s->attrs.bytes));
    put(w, "%s(", attrs_in_text(s->op) ? "]" : "");
    for (int k = 0; k < s->n_in; k++) {
        const wgi_term *t = &s->in[k];
        put(w, "%s", k ? "," : "");
        if (t->kind == WGI_TERM_STEP)
            put_name(w, step, t->index);
        else if (t->kind == WGI_TERM_OPERAND)
            put(w, "x%d", t->index);
        else
            put_number(w, t->number);
    }
    put(w, ")");
}

bool wgi_steps_write(const wgi_element_step *step, int n, char *text, size_t size)
{
    writer w = {text, size, 0};
    for (int i = 0; i < n; i++) {
        put(&w, "%s", i ? " " : "");
        put_step(&w, step, i);
    }
    return w.used < size;
}
