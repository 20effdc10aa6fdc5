#include "cli/json.h"
#include "train/json.h"

#include <inttypes.h>
#include <math.h>

static void put_key(json *j, const char *key)
{
    if (j->more)
        fputc(',', j->file);
    if (j->depth)
        fprintf(j->file, "\n%*s", 2 * j->depth, "");
    if (key) {
        wgi_json_quote(j->file, key);
        fputs(": ", j->file);
    }
    j->more = true;
}

void put_json_begin(json *j, const char *key, char bracket)
{
    put_key(j, key);
    fputc(bracket, j->file);
    j->depth++;
    j->more = false;
}

void put_json_end(json *j, char bracket)
{
    j->depth--;
    if (j->more)
        fprintf(j->file, "\n%*s", 2 * j->depth, "");
    fputc(bracket, j->file);
    if (!j->depth)
        fputc('\n', j->file);
    j->more = true;
}

void put_json_text(json *j, const char *key, const char *text)
{
    put_key(j, key);
    wgi_json_quote(j->file, text);
}

void put_json_real(json *j, const char *key, double x)
{
    put_key(j, key);
    if (isfinite(x))
        fprintf(j->file, "%.9g", x);
    else
        fputs("null", j->file);
}

void put_json_whole(json *j, const char *key, int64_t n)
{
    put_key(j, key);
    fprintf(j->file, "%" PRId64, n);
}
