/* Amounts as people read them: three digits, with a prefix, and never with an exponent. */
#include "graph/amount.h"
#include "tests/test.h"
#include "wengert/graph/status.h"

static const struct amount {
    const char *(*text)(double x, char text[WGI_AMOUNT_TEXT]);
    double x;
    const char *expected;
} amounts[] = {
    {wgi_bytes_text, 0, "0 B"},
    {wgi_bytes_text, 1023, "1023 B"},
    {wgi_bytes_text, 1024, "1 KiB"},
    {wgi_bytes_text, 999.6 * 1024, "1000 KiB"},
    {wgi_bytes_text, 1023.4 * 1024, "1023 KiB"},
    {wgi_bytes_text, 1023.6 * 1024, "1 MiB"},
    {wgi_bytes_text, 9.7 * 1024 * 1024, "9.7 MiB"},
    {wgi_bytes_text, 0x1p60, "1048576 TiB"},
    {wgi_seconds_text, 0, "0 ns"},
    {wgi_seconds_text, 1.5e-9, "1.5 ns"},
    {wgi_seconds_text, 999.6e-6, "1 ms"},
    {wgi_seconds_text, 0.9994, "999 ms"},
    {wgi_seconds_text, 0.9996, "1 s"},
    {wgi_seconds_text, 12345, "12345 s"},
};

static const struct quantity {
    double x;
    const char *unit, *expected;
} quantities[] = {
    {4, "FLOP", "4 FLOP"},
    {999.4, "FLOP", "999 FLOP"},
    {999.6, "FLOP", "1 kFLOP"},
    {305.1e9, "FLOP", "305 GFLOP"},
    {2.5e18, "FLOP", "2500 PFLOP"},
    {419, " parameters", "419 parameters"},
    {76580, " parameters", "76.6 k parameters"},
    {12, "", "12"},
    {1250, "", "1.25 k"},
};

static void amounts_have_three_digits_and_a_prefix(void **state)
{
    (void)state;
    char text[WGI_AMOUNT_TEXT];
    for (int i = 0; i < WG_COUNT(amounts); i++)
        assert_string_equal(amounts[i].text(amounts[i].x, text), amounts[i].expected);
    for (int i = 0; i < WG_COUNT(quantities); i++)
        assert_string_equal(wgi_amount_text(quantities[i].x, quantities[i].unit, text),
                            quantities[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(amounts_have_three_digits_and_a_prefix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
