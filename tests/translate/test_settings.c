/* The table of options and the settings that are set by it: flags, values, presets. */
#include "tests/translate/settings.h"

#include "cli/settings_args.h"
#include "translate/presets.h"
#include "wengert/ops/linalg.h"

/* ---- the table ------------------------------------------------------------------------------- */

static void test_table_is_sound(void **state)
{
    (void)state;
    const wg_option *o;
    size_t n = 0;
    int group = 0;
    for (; (o = wg_option_at(n)); n++) {
        assert_true(o->group >= group);
        group = o->group;
        assert_non_null(wg_option_group_title(o->group));
        check_that(o->doc && strlen(o->doc) > 5, "%s is not explained", o->name);
        assert_true(o->use & (WG_FOR_TRAINING | WG_FOR_TRANSLATION | WG_FOR_GENERATION));
        check_that(!(o->use & WG_FOR_SCORING) || o->use & WG_FOR_EVALUATION,
                   "%s: scoring, which evaluation does as well, takes more than that", o->name);
        check_that(o->use & WG_MAY_CHANGE ||
                       (o->use & ~(WG_FOR_IMPORT | WG_FOR_GENERATION)) == WG_FOR_TRAINING,
                   "%s: a trained model cannot be asked for another", o->name);
        assert_ptr_equal(wg_option_find(o->name), o);
        check_that(strlen(o->name) < 32, "%s is too long a name", o->name);
        check_that(o->unit || (o->kind == WG_OPTION_BOOL && o->implied_value),
                   "%s: what is its argument?", o->name);
        check_that((o->kind != WG_OPTION_CHOICE && o->kind != WG_OPTION_WORDS) || o->choices, "%s",
                   o->name);
        for (size_t i = 0; i < n; i++) {
            const wg_option *other = wg_option_at(i);
            check_that(strcmp(o->name, other->name) != 0, "%s stands twice", o->name);
            check_that(!o->letter || o->letter != other->letter, "-%c stands twice", o->letter);
            check_that(o->offset != other->offset, "%s and %s share a field", o->name, other->name);
        }
    }
    assert_true(n > 60);
    assert_null(wg_option_find("nothing"));
    assert_null(wg_option_find(""));
    assert_null(wg_option_find(NULL));
    assert_null(wg_option_find("lr|learning-rate"));
    assert_null(wg_option_group_title(-1));
    assert_null(wg_option_group_title(WG_GROUP_COUNT));
}

static void test_aliases(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"lr", "learn-rate"},
        {"learning-rate", "learn-rate"},
        {"warmup-updates", "lr-warmup"},
        {"max-tokens", "mini-batch-words"},
        {"update-freq", "optimizer-delay"},
        {"arch", "preset"},
        {"beam", "beam-size"},
        {"lenpen", "normalize"},
        {"patience", "early-stopping"},
        {"save-dir", "model"},
        {"dim-emb", "d-model"},
        {"enc-depth", "encoder-layers"},
    };
    size_t checked = 0;
    for (size_t i = 0; i < WG_COUNT(pairs); i++)
        assert_ptr_equal(wg_option_find(pairs[i][0]), wg_option_find(pairs[i][1]));
    /* no alias is a name or an alias of another option */
    const wg_option *o;
    for (size_t i = 0; (o = wg_option_at(i)); i++) {
        char *names = strdup(o->aliases ? o->aliases : ""), *rest = names, *alias;
        while ((alias = strtok_r(rest, "|", &rest))) {
            assert_ptr_equal(wg_option_find(alias), o);
            checked++;
        }
        free(names);
    }
    assert_true(checked > 40);
    assert_string_equal(wg_option_nearest("lern-rate"), "learn-rate");
    assert_null(wg_option_nearest("xyzzyxyzzy"));
    assert_null(wg_option_nearest(NULL));
}

/* cli/settings_args.c makes a row of each option, of each alias and of the title of each group, one
 * for --config, one alias more for a program, and an empty one; its help is at most 400 bytes, 200
 * of them for the aliases. */
static void test_the_command_line_has_room(void **state)
{
    (void)state;
    const wg_option *o;
    size_t rows = WG_GROUP_COUNT + 3;
    for (size_t i = 0; (o = wg_option_at(i)); i++) {
        size_t help = strlen("; also") + 1;
        rows++;
        for (const char *at = o->aliases; at && *at; at += strcspn(at, "|"), at += *at == '|') {
            help += strlen(", --") + strcspn(at, "|");
            rows++;
        }
        check_that(help < 200, "--%s has too many aliases", o->name);
        help += strlen(o->doc) + strlen(" (default: )");
        help += o->default_value ? strlen(o->default_value) : 0;
        check_that(help < 400, "--%s has too long a help", o->name);
    }
    assert_in_range(rows, 100, MAX_ROWS);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Two different values for an option, as flags have them. */
static void examples(const wg_option *o, const char *values[2][2], size_t n[2], char text[2][200])
{
    static const char *const fixed[][2] = {
        [WG_OPTION_BOOL] = {"true", "false"},
        [WG_OPTION_SEED] = {"0", "18446744073709551615"},
        [WG_OPTION_AMOUNT] = {"7e", "123456789t"},
        [WG_OPTION_BYTES] = {"1025", "3G"},
        [WG_OPTION_TEXT] = {"a: b # \"c\"\n\\", "no"},
        [WG_OPTION_PAIR] = {"- \x01\xc2\x85\xe2\x80\xa8'x'", "\xc3\xbc.de"},
    };
    for (int i = 0; i < 2; i++) {
        n[i] = o->kind == WG_OPTION_PAIR ? 2 : 1;
        values[i][0] = values[i][1] = text[i];
        switch (o->kind) {
        case WG_OPTION_WHOLE: snprintf(text[i], 200, "%.0f", i ? o->max : o->min); break;
        case WG_OPTION_REAL:
            snprintf(text[i], 200, "%.17g", i ? o->min + (o->max - o->min) / 3 : o->min);
            break;
        case WG_OPTION_CHOICE:
        case WG_OPTION_WORDS: {
            const char *last = strrchr(o->choices, '|') + 1;
            snprintf(text[i], 200, "%.*s", (int)strcspn(i ? last : o->choices, "|"),
                     i ? last : o->choices);
            break;
        }
        default: snprintf(text[i], 200, "%s", fixed[o->kind][i]);
        }
    }
}

static void test_each_option(void **state)
{
    (void)state;
    const wg_option *o;
    size_t changed = 0;
    for (size_t i = 0; (o = wg_option_at(i)); i++) {
        const char *values[2][2];
        char text[2][200];
        size_t n[2];
        wg_settings s[2];
        examples(o, values, n, text);
        for (int k = 0; k < 2; k++) {
            init(&s[k]);
            assert_false(wg_settings_given(&s[k], o));
            wg_status status = wg_settings_assign(&s[k], o, values[k], n[k], &error);
            check_that(status == WG_OK, "%s", error.text);
            assert_true(wg_settings_given(&s[k], o));
            check_round_trip(&s[k]);
        }
        check_that(!wg_settings_equal(&s[0], &s[1], o), "%s is the same for %s and %s", o->name,
                   text[0], text[1]);
        changed++;
        wg_settings_free(&s[0]);
        wg_settings_free(&s[1]);
    }
    assert_true(changed > 60);
}

static void test_fields(void **state)
{
    (void)state;
    wg_settings s;
    init(&s);
    set(&s, "lr", "0.25");
    assert_true(s.schedule.rate == 0.25);
    set(&s, "d-model", "96");
    assert_int_equal(s.net.d_model, 96);
    assert_int_equal(s.schedule.d_model, 96);
    set(&s, "activation", "gelu-tanh");
    assert_int_equal(s.net.activation, WG_ACTIVATION_GELU_TANH);
    set(&s, "dtype", "f64");
    assert_int_equal(s.net.dtype, WG_F64);
    set(&s, "tying", "none");
    assert_int_equal(s.net.tying, WG_UNTIED);
    set(&s, "after", "10e");
    assert_true(s.after.n == 10 && s.after.unit == 'e');
    set(&s, "after", "12");
    assert_true(s.after.n == 12 && s.after.unit == 'u');
    set(&s, "valid-metrics", "bleu, cross-entropy");
    assert_string_equal(s.valid_metrics, "bleu cross-entropy");
    set(&s, "vocabs", "v.spm");
    assert_string_equal(s.vocabs[0], "v.spm");
    assert_null(s.vocabs[1]);
    set(&s, "vocabs", NULL);
    assert_null(s.vocabs[0]);
    wg_settings copy;
    set(&s, "model", "folder");
    assert_int_equal(wg_settings_copy(&copy, &s), WG_OK);
    check_equal(&s, &copy);
    assert_ptr_not_equal(copy.model, s.model);
    wg_settings_free(&copy);
    wg_settings_free(&s);
    wg_settings_free(&s);
    wg_settings_free(NULL);
}

static void test_bad_values(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"heads", "x", "heads: expected a whole number from 1 to 10000, got 'x'"},
        {"heads", "", "got ''"},
        {"heads", "0", "got '0'"},
        {"heads", "1.5", "got '1.5'"},
        {"heads", "10001", "got '10001'"},
        {"heads", " 4", "got ' 4'"},
        {"heads", "\t4", "got '?4'"},
        {"heads", "\n4", "got '?4'"},
        {"heads", "99999999999999999999", "got '999"},
        {"dropout", "1", "dropout: expected a number from 0 to 0.99, got '1'"},
        {"dropout", "-0.1", "got '-0.1'"},
        {"dropout", "nan", "got 'nan'"},
        {"dropout", "", "got ''"},
        {"dropout", " 0.1", "got ' 0.1'"},
        {"dropout", "\t0.1", "got '?0.1'"},
        {"dropout", "\n0.1", "got '?0.1'"},
        {"learn-rate", "inf", "got 'inf'"},
        {"learn-rate", "1e999", "got '1e999'"},
        {"learn-rate", "0.1x", "got '0.1x'"},
        {"learn-rate", "0x10", "got '0x10'"},
        {"after", "10x", "after: expected an amount"},
        {"after", "e", "got 'e'"},
        {"after", "-1u", "got '-1u'"},
        {"after", "1ee", "got '1ee'"},
        {"after", "9999999999999999999u", "expected an amount"},
        {"after", "1000000000000001u", "expected an amount"},
        {"after", "x", "got 'x'"},
        {"seed", "x", "got 'x'"},
        {"seed", "1x", "got '1x'"},
        {"seed", "-1", "seed: expected a whole number from 0 to 18446744073709551615"},
        {"seed", "18446744073709551616", "got '1844"},
        {"pre-norm", "maybe", "pre-norm: expected true or false, got 'maybe'"},
        {"tying", "some", "tying: expected all, output or none, got 'some'"},
        {"preset", "huge", "preset: expected numbers, tiny, small, base or big, got 'huge'"},
        {"preset", "tiny small", "got 'tiny small'"},
        {"preset", "", "got ''"},
        {"valid-metrics", "blue", "expected some of: cross-entropy"},
        {"model", "\xff", "model: expected a text in UTF-8"},
        {"lern-rate", "1", "no option 'lern-rate'; did you mean 'learn-rate'?"},
        {"zzzzzzzzzzzz", "1", "no option 'zzzzzzzzzzzz'"},
        {NULL, "1", "no option ''"},
    };
    wg_settings s, before;
    init(&s);
    init(&before);
    for (size_t i = 0; i < WG_COUNT(bad); i++) {
        assert_int_equal(wg_settings_set(&s, bad[i][0], bad[i][1], &error), WG_EINVAL);
        check_that(strstr(error.text, bad[i][2]), "expected '%s', got '%s'", bad[i][2], error.text);
        check_equal(&s, &before);
    }
    const char *three[] = {"a", "b", "c"};
    assert_int_equal(wg_settings_assign(&s, wg_option_find("train-sets"), three, 1, &error),
                     WG_EINVAL);
    assert_string_equal(error.text, "train-sets: expected the files of source and target (type lm "
                                    "has one text: train-set, valid-set), got 'a'");
    assert_int_equal(wg_settings_assign(&s, wg_option_find("train-sets"), three, 3, &error),
                     WG_EINVAL);
    assert_int_equal(wg_settings_assign(&s, wg_option_find("heads"), three, 0, &error), WG_EINVAL);
    assert_int_equal(wg_settings_assign(NULL, wg_option_find("heads"), three, 1, &error),
                     WG_EINVAL);
    assert_int_equal(wg_settings_assign(&s, NULL, three, 1, &error), WG_EINVAL);
    assert_int_equal(wg_settings_assign(&s, wg_option_find("heads"), NULL, 1, &error), WG_EINVAL);
    const char *half[] = {"", "b"};
    assert_int_equal(wg_settings_assign(&s, wg_option_find("train-sets"), half, 2, &error),
                     WG_EINVAL);
    assert_string_equal(error.text, "train-sets: expected no empty text, got ' b'");
    assert_int_equal(wg_settings_set(&s, "heads", "x", NULL), WG_EINVAL);
    assert_int_equal(wg_settings_init(NULL), WG_EINVAL);
    wg_settings copy;
    assert_int_equal(wg_settings_copy(NULL, &s), WG_EINVAL);
    assert_int_equal(wg_settings_copy(&copy, NULL), WG_EINVAL);
    check_equal(&s, &before);
    wg_settings_free(&s);
    wg_settings_free(&before);
}

static void check_text(const wg_settings *s, const char *name, const char *expected)
{
    char *text;
    assert_int_equal(wg_settings_get(s, wg_option_find(name), &text), WG_OK);
    check_that(strcmp(text, expected) == 0, "%s: got '%s', expected '%s'", name, text, expected);
    free(text);
}

/* What YAML must escape, and code points that are no characters. */
static void test_odd_texts(void **state)
{
    (void)state;
    wg_settings s;
    init(&s);
    set(&s, "model", "\x7f \xe2\x80\xa8 \xe2\x80\xa9 \xef\xbb\xbf \xef\xbf\xbe \xf0\x9f\xbf\xbf");
    check_text(&s, "model", "\"\\u007f \\u2028 \\u2029 \\ufeff \\ufffe \\U0001ffff\"");
    check_round_trip(&s);
    wg_settings_free(&s);
}

/* Fields are public: what no option would take is shown all the same. */
static void test_fields_written_directly(void **state)
{
    (void)state;
    wg_settings s;
    init(&s);
    free(s.model);
    s.model = strdup("a\xff");
    free(s.valid_metrics);
    s.valid_metrics = NULL;
    s.schedule.rate = strtod("nan", NULL);
    check_text(&s, "model", "\"a\\ufffd\"");
    check_text(&s, "valid-metrics", "[]");
    check_text(&s, "learn-rate", "nan");
    wg_settings_free(&s);
}

/* The same number of epochs and of updates differ, but none is none. */
static void test_equal_values(void **state)
{
    (void)state;
    static const struct {
        const char *name, *a, *b;
        bool equal;
    } cases[] = {{"after", "3e", "3e", true},  {"after", "3e", "3u", false},
                 {"after", "3e", "4e", false}, {"after", "0e", "0u", true},
                 {"model", "a", "a", true},    {"model", "a", "b", false},
                 {"model", "a", NULL, false},  {"model", NULL, NULL, true}};
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_settings a, b;
        init(&a);
        init(&b);
        set(&a, cases[i].name, cases[i].a);
        set(&b, cases[i].name, cases[i].b);
        const wg_option *o = wg_option_find(cases[i].name);
        assert_int_equal(wg_settings_equal(&a, &b, o), cases[i].equal);
        assert_int_equal(wg_settings_equal(&b, &a, o), cases[i].equal);
        wg_settings_free(&a);
        wg_settings_free(&b);
    }
}

/* ---- presets --------------------------------------------------------------------------------- */

static void test_presets(void **state)
{
    (void)state;
    wg_settings s;
    assert_null(wgi_preset_find("huge"));
    init(&s);
    assert_string_equal(s.preset, "numbers");
    const char *sets[] = {"a", "b"};
    assert_int_equal(wg_settings_assign(&s, wg_option_find("train-sets"), sets, 2, NULL), WG_OK);
    assert_string_equal(s.preset, "tiny");
    assert_int_equal(s.net.d_model, wg_transformer_find("tiny")->d_model);
    set(&s, "heads", "16");
    set(&s, "lr", "3");
    set(&s, "preset", "base");
    assert_int_equal(s.net.heads, 16);
    assert_true(s.schedule.rate == 3);
    assert_int_equal(s.net.d_ff, wg_transformer_find("base")->d_ff);
    assert_string_equal(s.net.name, "base");
    set(&s, "train-sets", NULL); /* the preset was given: it stays */
    assert_string_equal(s.preset, "base");
    wg_settings_free(&s);
    for (size_t i = 0; wg_transformer_config_at(i); i++) {
        const wg_transformer_config *c = wg_transformer_config_at(i);
        init(&s);
        set(&s, "preset", c->name);
        assert_int_equal(s.net.d_model, c->d_model);
        assert_int_equal(s.net.encoder_layers, c->encoder_layers);
        assert_true(s.net.dropout == c->dropout);
        check_round_trip(&s);
        wg_settings_free(&s);
    }
}

/* Whether what some options need is there. */
static void test_effects(void **state)
{
    (void)state;
    static const struct {
        const char *needs, *given[2][2];
        bool there;
    } rows[] = {
        {"the built-in corpus", {{0}}, true},
        {"the built-in corpus", {{"train-sets", "x"}}, false},
        {"the built-in corpus", {{"type", "lm"}}, false},
        {"--type transformer", {{0}}, true},
        {"--type transformer", {{"type", "lm"}}, false},
        {"--type lm", {{0}}, false},
        {"--type lm", {{"type", "lm"}}, true},
        {"a validation set", {{0}}, true},
        {"a validation set", {{"train-sets", "x"}}, false},
        {"a validation set", {{"train-sets", "x"}, {"valid-sets", "y"}}, true},
        {"a validation set", {{"type", "lm"}}, false},
        {"a validation set", {{"type", "lm"}, {"valid-set", "y"}}, true},
        {"a vocabulary to build", {{0}}, true},
        {"a vocabulary to build", {{"vocabs", "v"}}, false},
        {"a vocabulary of bpe or unigram to build", {{0}}, true},
        {"a vocabulary of bpe or unigram to build", {{"vocab-kind", "unigram"}}, true},
        {"a vocabulary of bpe or unigram to build", {{"vocab-kind", "words"}}, false},
        {"a vocabulary of bpe or unigram to build", {{"vocab-kind", "chars"}}, false},
        {"a vocabulary of bpe or unigram to build", {{"vocabs", "v"}}, false},
        {"--positions learned", {{0}}, false},
        {"--positions learned", {{"positions", "learned"}}, true},
        {"--label-smoothing", {{"label-smoothing", "0.1"}}, true},
        {"--label-smoothing", {{"label-smoothing", "0"}}, false},
        {"--optimizer adam or adamw", {{"optimizer", "adamw"}}, true},
        {"--optimizer adam or adamw", {{"optimizer", "sgd"}}, false},
        {"--optimizer sgd", {{"optimizer", "sgd"}}, true},
        {"--optimizer sgd", {{"optimizer", "adam"}}, false},
        {"--lr-schedule cosine or linear", {{"lr-schedule", "cosine"}}, true},
        {"--lr-schedule cosine or linear", {{"lr-schedule", "linear"}}, true},
        {"--lr-schedule cosine or linear", {{"lr-schedule", "noam"}}, false},
    };
    const wg_option *o;
    size_t seen[WG_COUNT(rows)] = {0};
    for (size_t i = 0; (o = wg_option_at(i)); i++) {
        bool known = !o->has_effect;
        assert_true(o->needs || !o->has_effect);
        for (size_t k = 0; o->has_effect && k < WG_COUNT(rows); k++) {
            wg_settings s;
            if (strcmp(o->needs, rows[k].needs) != 0)
                continue;
            init(&s);
            for (int j = 0; j < 2 && rows[k].given[j][0]; j++)
                set(&s, rows[k].given[j][0], rows[k].given[j][1]);
            check_that(o->has_effect(&s) == rows[k].there, "%s, row %zu", o->name, k);
            wg_settings_free(&s);
            known = true;
            seen[k]++;
        }
        check_that(known, "%s needs %s: no row has that", o->name, o->needs);
    }
    for (size_t k = 0; k < WG_COUNT(rows); k++)
        check_that(seen[k], "no option needs %s", rows[k].needs);
}

/* The same options in any order are the same settings. */
static void test_order_does_not_matter(void **state)
{
    (void)state;
    static const char *const given[][2] = {{"preset", "big"},
                                           {"d-model", "32"},
                                           {"after", "3e"},
                                           {"train-sets", "x"},
                                           {"clip-norm", "1"}};
    enum { N = WG_COUNT(given) };
    wg_settings first, s;
    init(&first);
    for (int i = 0; i < N; i++)
        set(&first, given[i][0], given[i][1]);
    for (int shift = 1; shift < N; shift++) {
        init(&s);
        for (int i = 0; i < N; i++)
            set(&s, given[(i + shift) % N][0], given[(i + shift) % N][1]);
        check_equal(&first, &s);
        wg_settings_free(&s);
    }
    wg_settings_free(&first);
}

static void test_override(void **state)
{
    (void)state;
    wg_settings model, over;
    init(&model);
    init(&over);
    set(&model, "heads", "2");
    set(&over, "after", "3e");
    set(&over, "heads", "2");
    assert_int_equal(wg_settings_override(&model, &over, &error), WG_OK);
    assert_int_equal(error.status, WG_OK);
    assert_string_equal(error.text, "");
    assert_true(model.after.n == 3 && model.after.unit == 'e');
    set(&model, "backend", "cpu");
    set(&over, "backend", NULL);
    assert_int_equal(wg_settings_override(&model, &over, &error), WG_OK);
    assert_null(model.backend);
    set(&over, "heads", "8");
    set(&over, "gated", "true");
    set(&over, "train-sets", "x");
    set(&over, "after", "5e");
    assert_int_equal(wg_settings_override(&model, &over, NULL), WG_EINVAL);
    assert_int_equal(wg_settings_override(&model, &over, &error), WG_EINVAL);
    assert_int_equal(error.status, WG_EINVAL);
    assert_string_equal(error.text, "heads: expected 2, as in the model, got 8; "
                                    "gated: expected false, as in the model, got true");
    assert_true(model.after.n == 3);
    wg_settings_free(&model);
    wg_settings_free(&over);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_sound),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_the_command_line_has_room),
        cmocka_unit_test(test_each_option),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_odd_texts),
        cmocka_unit_test(test_fields_written_directly),
        cmocka_unit_test(test_equal_values),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_effects),
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_override),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
