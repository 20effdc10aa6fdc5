/* The cap of the instruction sets: what its values mean, and what happens to any other. */
#define _DEFAULT_SOURCE /* syscall */
#include "tests/test.h"
#include "backends/simd/internal.h"
#include "wengert/backends/isa.h"
#include "wengert/backends/plan.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/ops.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const char accepted[] = "SSE41, AVX2, AVX2_VNNI, AVX512_CORE, AVX512_CORE_VNNI, "
                               "AVX512_CORE_AMX, ALL";

static const struct {
    const char *value; /* NULL: not set */
    wg_isa cap;
} caps[] = {
    {"SSE41", WG_ISA_SSE41},
    {"AVX2", WG_ISA_AVX2},
    {"AVX2_VNNI", WG_ISA_AVX2_VNNI},
    {"AVX512_CORE", WG_ISA_AVX512_CORE},
    {"AVX512_CORE_VNNI", WG_ISA_AVX512_CORE_VNNI},
    {"AVX512_CORE_AMX", WG_ISA_AVX512_CORE_AMX},
    {"ALL", WG_ISA_ALL},
    {"sse41", WG_ISA_SSE41},
    {"avx2", WG_ISA_AVX2},
    {"Avx2_vnni", WG_ISA_AVX2_VNNI},
    {"avx512_core", WG_ISA_AVX512_CORE},
    {"Avx512_Core_Vnni", WG_ISA_AVX512_CORE_VNNI},
    {"all", WG_ISA_ALL},
    {"", WG_ISA_ALL},
    {NULL, WG_ISA_ALL},
};

static void set_cap(const char *value)
{
    assert_int_equal(value ? setenv(WG_ISA_VARIABLE, value, 1) : unsetenv(WG_ISA_VARIABLE), 0);
}

/* Whether the first processor that Linux describes has all the features, each after a space. */
static bool has(const char *const *features, int n)
{
    char line[8192] = "";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f) && strncmp(line, "flags", 5) != 0)
        ;
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = ' ';
    for (int i = 0; i < n; i++)
        if (strncmp(line, "flags", 5) != 0 || !strstr(line, features[i]))
            return false;
    return true;
}

/* Linux gives the registers of AMX to a process that asks, if nothing forbids it. */
static bool may_use_tiles(void)
{
#if defined(__x86_64__)
    return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
#else
    return false;
#endif
}

/* The best set of this processor, from what the system says, not the compiler's functions. */
static wg_isa best_of_processor(void)
{
    static const char *const avx2[] = {" avx2 ", " fma "}, *const avx_vnni[] = {" avx_vnni "},
                             *const vnni[] = {" avx512_vnni "},
                             *const amx[] = {" amx_tile ", " amx_bf16 "},
                             *const core[] = {" avx512f ", " avx512bw ", " avx512dq ",
                                              " avx512vl "};
    if (has(core, WG_COUNT(core)))
        return !has(vnni, WG_COUNT(vnni))                   ? WG_ISA_AVX512_CORE
               : has(amx, WG_COUNT(amx)) && may_use_tiles() ? WG_ISA_AVX512_CORE_AMX
                                                            : WG_ISA_AVX512_CORE_VNNI;
    return !has(avx2, WG_COUNT(avx2))          ? WG_ISA_SSE41
           : has(avx_vnni, WG_COUNT(avx_vnni)) ? WG_ISA_AVX2_VNNI
                                               : WG_ISA_AVX2;
}

/* AMX must be asked for by its name; and what has AVX-512 may lack the VNNI of AVX2. */
static wg_isa expected_with(wg_isa cap)
{
    static const char *const avx_vnni[] = {" avx_vnni "};
    if (cap == WG_ISA_AVX2_VNNI && !has(avx_vnni, WG_COUNT(avx_vnni)))
        cap = WG_ISA_AVX2;
    wg_isa most = cap == WG_ISA_ALL ? WG_ISA_AVX512_CORE_VNNI : cap, have = best_of_processor();
    return most < have ? most : have;
}

static void each_value_is_the_level_it_names(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(caps); i++) {
        wg_isa cap = WG_ISA_ALL, expected = expected_with(caps[i].cap);
        const char *value = caps[i].value ? caps[i].value : "(not set)";
        set_cap(caps[i].value);
        wg_error error;
        check_that(wg_isa_cap(&cap, &error) == WG_OK, "%s: %s", value, error.text);
        check_that(cap == caps[i].cap, "%s is read as %s", value, wg_isa_name(cap));
        check_that(wg_isa_best() == expected, "%s: kernels for %s, expected %s", value,
                   wg_isa_name(wg_isa_best()), wg_isa_name(expected));
    }
}

static void names_are_the_accepted_values(void **state)
{
    (void)state;
    for (wg_isa isa = WG_ISA_SSE41; isa <= WG_ISA_ALL; isa++) {
        wg_isa cap;
        set_cap(wg_isa_name(isa));
        assert_int_equal(wg_isa_cap(&cap, NULL), WG_OK);
        assert_int_equal(cap, isa);
    }
}

static void the_simd_backend_opens_with_the_kernels_of_the_cap(void **state)
{
    (void)state;
    static const simd_table *const tables[] = {
        [WG_ISA_SSE41] = &wgi_simd_table_base,
#if defined(__x86_64__)
        [WG_ISA_AVX2] = &wgi_simd_table_avx2,
        [WG_ISA_AVX2_VNNI] = &wgi_simd_table_avx2vnni,
        [WG_ISA_AVX512_CORE] = &wgi_simd_table_avx512,
        [WG_ISA_AVX512_CORE_VNNI] = &wgi_simd_table_avx512vnni,
        [WG_ISA_AVX512_CORE_AMX] = &wgi_simd_table_amx,
#endif
    };
    const wg_backend *backend = wg_simd_backend();
    for (int i = 0; i < WG_COUNT(caps); i++) {
        void *opened = NULL;
        set_cap(caps[i].value);
        assert_int_equal(backend->open(&opened, &(wg_backend_config){.threads = 1}), WG_OK);
        const simd_table *taken = ((const simd_backend *)opened)->kernels;
        backend->close(opened);
        assert_ptr_equal(taken, tables[expected_with(caps[i].cap)]);
    }
}

static wg_status plan(wg_graph *g)
{
    const wg_backend *backend = wg_simd_backend();
    wg_plan *p = NULL;
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4));
    wg_output(wg_tanh(x), "y");
    wg_status status =
        wg_plan_create(&p, g, &(wg_plan_options){.backends = &backend, .n_backends = 1});
    assert_true((p != NULL) == (status == WG_OK));
    wg_plan_free(p);
    return status;
}

static void plans_accept_each_value(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(caps); i++) {
        wg_graph *g = wg_graph_new();
        set_cap(caps[i].value);
        check_that(plan(g) == WG_OK, "%s", wg_graph_message(g));
        wg_graph_free(g);
    }
}

/* The value in quotes, cut after 40 bytes, then the list of those that are right. */
static void plans_refuse_other_values_and_list_the_right_ones(void **state)
{
    (void)state;
    static const char *const others[] = {
        "avx3",    "AVX",          "SSE4",
        "AVX512",  "AVX512_CORE_", "AVX2 ",
        " AVX2",   "none",         "0",
        "default", "AMX",          "an instruction set whose name has more than 40 bytes"};
    for (int i = 0; i < WG_COUNT(others); i++) {
        wg_graph *g = wg_graph_new();
        char expected[200];
        set_cap(others[i]);
        snprintf(expected, sizeof expected, WG_ISA_VARIABLE " is '%.40s', which is none of %s",
                 others[i], accepted);
        assert_int_equal(plan(g), WG_EINVAL);
        check_that(strstr(wg_graph_message(g), expected), "\"%s\" does not say \"%s\"",
                   wg_graph_message(g), expected);
        wg_graph_free(g);

        wg_isa cap;
        wg_error error;
        assert_int_equal(wg_isa_cap(&cap, &error), WG_EINVAL);
        assert_string_equal(error.text, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_the_level_it_names),
        cmocka_unit_test(names_are_the_accepted_values),
        cmocka_unit_test(the_simd_backend_opens_with_the_kernels_of_the_cap),
        cmocka_unit_test(plans_accept_each_value),
        cmocka_unit_test(plans_refuse_other_values_and_list_the_right_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
