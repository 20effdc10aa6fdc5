#include "graph/amount.h"

#include <stdio.h>

/* Not as 1e+03, which %.3g makes of 1000. */
static int put_digits(double x, char text[WGI_AMOUNT_TEXT])
{
    return snprintf(text, WGI_AMOUNT_TEXT, x < 999.5 ? "%.3g" : "%.0f", x);
}

const char *wgi_amount_text(double x, const char *unit, char text[WGI_AMOUNT_TEXT])
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    while (x >= 999.5 && i < 5) {
        x /= 1000;
        i++;
    }
    int n = put_digits(x, text);
    const char *space = i > 0 || (*unit && *unit != ' ') ? " " : "";
    snprintf(text + n, (size_t)(WGI_AMOUNT_TEXT - n), "%s%s%s", space, prefix[i], unit);
    return text;
}

const char *wgi_bytes_text(double bytes, char text[WGI_AMOUNT_TEXT])
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int i = 0;
    while (bytes >= 1023.5 && i < 4) {
        bytes /= 1024;
        i++;
    }
    int n = put_digits(bytes, text);
    snprintf(text + n, (size_t)(WGI_AMOUNT_TEXT - n), " %s", unit[i]);
    return text;
}

const char *wgi_seconds_text(double seconds, char text[WGI_AMOUNT_TEXT])
{
    static const struct {
        double factor;
        const char *unit;
    } units[] = {{1, "s"}, {1e3, "ms"}, {1e6, "us"}, {1e9, "ns"}};
    int i = 0;
    while (i < 3 && seconds * units[i].factor < 0.9995)
        i++;
    int n = put_digits(seconds * units[i].factor, text);
    snprintf(text + n, (size_t)(WGI_AMOUNT_TEXT - n), " %s", units[i].unit);
    return text;
}
