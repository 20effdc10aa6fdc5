#include "graph/sizes.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char units[] = "KMGT";

bool wgi_real_read(const char *text, double *x)
{
    char *end;
    errno = 0;
    *x = strtod(text, &end);
    bool lost = errno == ERANGE && fabs(*x) < 1;
    return end != text && !*end && !lost && !strpbrk(text, " \t\nxX");
}

bool wgi_size_read(const char *text, int64_t *bytes)
{
    char *end;
    const char *digit = text + (*text == '.');
    if (*digit < '0' || *digit > '9' || text[1] == 'x' || text[1] == 'X')
        return false;
    double x = strtod(text, &end);
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        bool decimal = strcmp(end + 1, "B") == 0;
        x *= pow(decimal ? 1000 : 1024, (double)(unit - units + 1));
        end += decimal ? 2 : strcmp(end + 1, "iB") == 0 ? 3 : 1;
    }
    if (*end || !(x < 0x1p62))
        return false;
    *bytes = (int64_t)x;
    return true;
}

const char *wgi_size_text(int64_t bytes, char *text, size_t size)
{
    int power = 0;
    while (bytes && bytes % 1024 == 0 && power < (int)strlen(units)) {
        bytes /= 1024;
        power++;
    }
    const char unit[] = {power ? units[power - 1] : '\0', '\0'};
    snprintf(text, size, "%" PRId64 "%s", bytes, unit);
    return text;
}
