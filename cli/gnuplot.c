#include "cli/gnuplot.h"
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *picture_format(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".svg") == 0)
        return "svg";
    return dot && strcmp(dot, ".png") == 0 ? "png" : NULL;
}

FILE *gnuplot_begin(const char *format, double width, double height)
{
    FILE *f = tmpfile();
    if (!f) {
        complain("temporary file: %s", strerror(errno));
        return NULL;
    }
    const char *terminal = strcmp(format, "png") == 0 ? "pngcairo" : "svg background 'white'";
    fprintf(f, "set terminal %s size %.0f,%.0f noenhanced\nset encoding utf8\n", terminal, width,
            height);
    return f;
}

/* Within double quotes, \ooo is the byte of that octal number, whatever it means elsewhere: quotes,
 * backslashes and backquotes, which would run a command.  (Within single quotes nothing has a
 * meaning but the quote, but gnuplot 5.4 reads '''s' as two strings.) */
void gnuplot_text(FILE *script, const char *text)
{
    bool escaped = false; /* the character before: a digit behind it would be read as its last */
    fputc('"', script);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = c >= 0x80 || c == ' ' || (isalnum(c) && !(escaped && isdigit(c)));
        escaped = false;
        if (c < ' ' || c == 0x7f)
            fputc(' ', script);
        else if (plain)
            fputc(c, script);
        else
            escaped = fprintf(script, "\\%03o", c) > 0;
    }
    fputc('"', script);
}

void gnuplot_range(FILE *script, double min, double max)
{
    double around = min != 0 ? 0.5 * fabs(min) : 1;
    if (min == max)
        fprintf(script, "set yrange [%.9g:%.9g]\n", min - around, max + around);
    else
        fputs("set yrange [*:*]\n", script);
}

/* Runs gnuplot with `script` as its input and `picture` as its output; an exit code. */
static int run(FILE *script, FILE *picture)
{
    static char name[] = "gnuplot", dash[] = "-";
    char *argv[] = {name, dash, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t usual;
    pid_t child;
    int status = 0, error;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawn_file_actions_init(&files);
    error = posix_spawn_file_actions_adddup2(&files, fileno(script), 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&files, fileno(picture), 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = posix_spawnp(&child, "gnuplot", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error) {
        complain(error == ENOENT ? "gnuplot not found; on Debian, install gnuplot-nox"
                                 : "gnuplot: %s",
                 strerror(error));
        return EXIT_RUN;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return EXIT_OK;
    complain("gnuplot failed (status %d)", status);
    return EXIT_RUN;
}

/* The whole file; the caller frees it. */
static char *contents(FILE *f, size_t *size)
{
    char *bytes = NULL;
    long end = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (end <= 0 || !(bytes = malloc((size_t)end)))
        return NULL;
    rewind(f);
    *size = fread(bytes, 1, (size_t)end, f);
    return bytes;
}

int gnuplot_end(FILE *script, const char *path)
{
    char *bytes = NULL;
    size_t size = 0;
    int code = EXIT_RUN;
    FILE *picture = tmpfile();
    if (!picture || fflush(script) != 0 || ferror(script) || fseek(script, 0, SEEK_SET) != 0)
        complain("temporary file: %s", strerror(errno));
    else if ((code = run(script, picture)) == EXIT_OK && !(bytes = contents(picture, &size))) {
        complain("gnuplot wrote no output");
        code = EXIT_RUN;
    } else if (code == EXIT_OK)
        code = write_file(path, bytes, size);
    free(bytes);
    if (picture)
        fclose(picture);
    fclose(script);
    return code;
}
