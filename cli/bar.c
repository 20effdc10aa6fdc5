#include "cli/bar.h"
#include "graph/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PART = 24 }; /* columns of the bar itself */

bar bar_on(FILE *file, bool quiet)
{
    const char *kind = getenv("TERM");
    bool moves = kind && strcmp(kind, "dumb") != 0; /* the cursor moves */
    return (bar){.file = file, .terminal = !quiet && moves && isatty(fileno(file))};
}

void bar_erase(bar *b)
{
    if (b->drawn)
        fputs("\r\033[K", b->file);
    b->drawn = false;
    fflush(b->file);
}

bool bar_is_due(bar *b)
{
    if (!b->terminal && b->lines <= 0)
        return false;
    double now = wgi_seconds();
    bool begins = !b->terminal && b->next <= 0; /* what is done soon needs no line */
    if (!begins && now < b->next)
        return false;
    b->next = now + (b->terminal ? 0.2 : b->lines);
    return !begins;
}

/* Columns of the terminal. */
static int columns(const bar *b)
{
    struct winsize w;
    return ioctl(fileno(b->file), TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}

static void write_line(bar *b, const char (*pieces)[BAR_PIECE], size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(b->file, "%s%s", i ? "  " : "", pieces[i]);
    fputc('\n', b->file);
    fflush(b->file);
}

void bar_draw(bar *b, double done, const char (*pieces)[BAR_PIECE], size_t n)
{
    if (!b->terminal) {
        write_line(b, pieces, n);
        return;
    }
    char text[400] = "", part[PART + 1] = "";
    int width = columns(b), used = 0;
    int room = width > (int)sizeof text ? (int)sizeof text - 1 : width - 1;
    for (size_t i = 0; i < n; i++) {
        int gap = used ? 2 : 0, length = (int)strlen(pieces[i]);
        if (used + gap + length > room)
            break; /* less important pieces are left out too */
        used += sprintf(text + used, "%*s%s", gap, "", pieces[i]);
    }
    int length = PART; /* one of a few lengths, so that the bar does not jitter */
    while (length > 0 && length + 3 > room - used)
        length -= PART / 3;
    if (isfinite(done) && length > 0) {
        memset(part, '.', (size_t)length);
        memset(part, '#', (size_t)(fmin(1, fmax(0, done)) * length));
        part[length] = '\0';
    }
    fprintf(b->file, *part ? "\r[%s] %s\033[K" : "\r%s%s\033[K", part, text);
    fflush(b->file);
    b->drawn = true;
}
