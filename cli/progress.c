#include "cli/progress.h"
#include "graph/clock.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { TOLERANCE = 24 };

progress progress_on(FILE *file, bool quiet)
{
    const char *kind = getenv("TERM");
    bool moves = kind && strcmp(kind, "dumb") != 0; /* the cursor moves */
    return (progress){
        .file = file, .quiet = quiet, .terminal = !quiet && moves && isatty(fileno(file))};
}

void progress_end(progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", p->file);
    p->drawn = false;
    fflush(p->file);
}

/* "1:02:03" or "2:03" */
static void clock_text(double seconds, char *text, size_t size)
{
    long s = seconds > 0 && seconds < 1e9 ? (long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
}

/* Columns of the terminal. */
static int columns(const progress *p)
{
    struct winsize w;
    return ioctl(fileno(p->file), TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}

/* A line under construction of at most `room` columns; pieces that do not fit are left out. */
typedef struct line {
    char text[400];
    int used, room;
} line;

static void add(line *l, const char *format, ...) WG_PRINTF(2, 3);
static void add(line *l, const char *format, ...)
{
    char piece[100];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(piece, sizeof piece, format, list);
    va_end(list);
    int gap = l->used ? 2 : 0;
    if (l->used + gap + n <= l->room)
        l->used += sprintf(l->text + l->used, "%*s%s", gap, "", piece);
    else
        l->room = 0; /* less important pieces are left out too */
}

/* The progress, most important pieces first, and a bar on the rest of the line. */
static void draw(progress *p, const wg_event *e)
{
    char left[32], tolerance[TOLERANCE + 1] = "";
    double now = wgi_seconds();
    if (now < p->next)
        return;
    p->next = now + 0.2;
    bool ends = isfinite(e->seconds_left);
    int width = columns(p);
    line l = {.room = width > (int)sizeof l.text ? (int)sizeof l.text - 1 : width - 1};
    int room = l.room;
    clock_text(e->seconds_left, left, sizeof left);
    if (ends) {
        add(&l, "%3.0f %%", floor(100 * e->done));
        add(&l, "ETA %s", left);
    }
    add(&l, "cost %.3f", e->cost);
    add(&l, "update %lld", (long long)e->update);
    add(&l, "epoch %lld", (long long)e->epoch);
    add(&l, "%.0f words/s", e->words_per_second);
    int n = TOLERANCE; /* one of a few lengths, so that the bar does not jitter */
    while (n > 0 && n + 3 > room - l.used)
        n -= TOLERANCE / 3;
    if (ends && n > 0) {
        memset(tolerance, '.', (size_t)n);
        memset(tolerance, '#', (size_t)(e->done * n));
        tolerance[n] = '\0';
    }
    fprintf(p->file, *tolerance ? "\r[%s] %s\033[K" : "\r%s%s\033[K", tolerance, l.text);
    fflush(p->file);
    p->drawn = true;
}

void progress_tell(void *context, const wg_event *event)
{
    progress *p = context;
    if (event->kind == WG_EVENT_UPDATE) {
        if (p->terminal)
            draw(p, event);
        return;
    }
    if (p->quiet || !event->text)
        return;
    progress_end(p);
    fprintf(p->file, "%s\n", event->text);
}
