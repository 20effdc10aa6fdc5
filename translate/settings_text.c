/* A setting's value as text, in the form that YAML reads back. */
#include "wengert/translate/settings.h"
#include "graph/sizes.h"
#include "graph/text_buffer.h"
#include "text/unicode/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* True if YAML must escape the character (YAML 1.1, sections 5.1 and 5.4). */
static bool needs_escape(int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           (c & 0xfffe) == 0xfffe;
}

/* True if every YAML reader takes the text for itself without quotes. */
static bool is_plain(const char *text)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz/";
    static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz/0123456789_.-";
    static const char *const taken[] = {"true", "false", "yes", "no", "on",
                                        "off",  "null",  "y",   "n"};
    for (size_t i = 0; i < WG_COUNT(taken); i++)
        if (strcasecmp(text, taken[i]) == 0)
            return false;
    return *text && strchr(first, *text) && text[strspn(text, more)] == '\0';
}

static void put_text(FILE *f, const char *text)
{
    if (is_plain(text)) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (const char *end = text + strlen(text); text < end;) {
        const char *at = text;
        int32_t code = wgi_utf8_read(&text, end);
        if (code < 0) /* no UTF-8: only where a field was written directly */
            fputs("\\ufffd", f);
        else if (code == '"' || code == '\\')
            fprintf(f, "\\%c", (char)code);
        else if (needs_escape(code))
            fprintf(f, code > 0xffff ? "\\U%08" PRIx32 : "\\u%04" PRIx32, (uint32_t)code);
        else
            fwrite(at, 1, (size_t)(text - at), f);
    }
    fputc('"', f);
}

/* The number with the fewest digits that read back as the same number. */
static void put_real(FILE *f, double x)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    fputs(text, f);
}

static void put_pair(FILE *f, char *const texts[2])
{
    fputc('[', f);
    for (int i = 0; i < 2 && texts[i]; i++) {
        fputs(i ? ", " : "", f);
        put_text(f, texts[i]);
    }
    fputc(']', f);
}

/* "a b" as [a, b]; without brackets if the option takes one word only. */
static void put_words(FILE *f, const char *words, bool list)
{
    fputs(list ? "[" : "", f);
    for (const char *at = words ? words : ""; *at; at++)
        fputs(*at == ' ' ? ", " : (char[]){*at, '\0'}, f);
    fputs(list ? "]" : "", f);
}

static void put_choice(FILE *f, const wg_option *o, int choice)
{
    const char *at = o->choices;
    for (int i = (int)o->min; i < choice; i++)
        at += strcspn(at, "|") + 1;
    fwrite(at, 1, strcspn(at, "|"), f);
}

static void put_value(FILE *f, const wg_settings *s, const wg_option *o)
{
    const void *field = (const char *)s + o->offset;
    char *const *texts = field;
    const wg_amount *amount = field;
    char size[32];
    switch (o->kind) {
    case WG_OPTION_BOOL: fputs(*(const bool *)field ? "true" : "false", f); break;
    case WG_OPTION_WHOLE: fprintf(f, "%" PRId64, *(const int64_t *)field); break;
    case WG_OPTION_SEED: fprintf(f, "%" PRIu64, *(const uint64_t *)field); break;
    case WG_OPTION_REAL: put_real(f, *(const double *)field); break;
    case WG_OPTION_AMOUNT: fprintf(f, "%" PRId64 "%c", amount->n, amount->unit); break;
    case WG_OPTION_BYTES:
        fputs(wgi_size_text(*(const int64_t *)field, size, sizeof size), f);
        break;
    case WG_OPTION_CHOICE: put_choice(f, o, *(const int *)field); break;
    case WG_OPTION_WORDS: put_words(f, texts[0], o->max > 1); break;
    case WG_OPTION_TEXT: put_text(f, texts[0] ? texts[0] : ""); break;
    default: put_pair(f, texts); break;
    }
}

wg_status wg_settings_get(const wg_settings *s, const wg_option *o, char **text)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    if (f)
        put_value(f, s, o);
    *text = wgi_text_close(&b);
    return *text ? WG_OK : WG_ENOMEM;
}
