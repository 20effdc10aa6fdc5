/* Settings that do not go together are refused by the names of options, before anything is read or
 * written. */
#include "tests/training.h"
#include "translate/trainer.h"

static wg_error error;

/* Each message begins with the name of an option. */
static void conflicting_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *list, *message; /* NULL: that can be */
    } cases[] = {
        {"heads 4", NULL},
        {"d-model 30; heads 4",
         "heads is 4, must divide d-model, which is 30, unless d-k and d-v are given"},
        {"d-model 30; heads 4; d-k 8", "heads is 4"},
        {"d-model 30; heads 4; d-k 8; d-v 8", NULL},
        {"d-model 9; heads 3", "d-model is 9, must be even"},
        {"d-model 9; heads 3; positions learned", NULL},
        {"d-model 12; heads 4; positions rotary", "d-k is 3 (d-model / heads), must be even"},
        {"positions rotary; attention additive", "positions that are rotary"},
        {"attention-window 3; attention unscaled", NULL},
        {"attention-window 3; attention additive",
         "attention-window is 3, must be 0 where attention is additive"},
        {"norm-eps 1", "norm-eps is 1"},
        {"length-multiple 64; mini-batch-words 63",
         "length-multiple is 64, must be at most mini-batch-words (63)"},
        {"length-multiple 64; mini-batch-words 64", NULL},
        {"length-multiple 64; max-positions 63; positions learned", "length-multiple is 64"},
        {"max-positions 100; max-length 0", NULL},
        {"positions learned; max-positions 100; max-length 99", NULL},
        {"positions learned; max-positions 100; max-length 100",
         "max-length is 100, must be from 1 to 99"},
        {"positions learned; max-positions 100; length-multiple 8; max-length 96",
         "must be from 1 to 95"},
        {"positions learned; max-positions 100; max-length 0",
         "max-length is 0, must be from 1 to 99"},
        {"lr-schedule cosine; after 0", "lr-updates is 0, must be given"},
        {"lr-schedule linear; after 0; lr-updates 9; lr-warmup 8", NULL},
        {"lr-schedule linear; lr-updates 9; lr-warmup 9",
         "lr-updates is 9, must be above lr-warmup (9)"},
        {"max-length-factor 0; max-length-extra 1", NULL},
        {"max-length-factor 0; max-length-extra 0", "both 0: no translation would have a token"},
        {"lr-schedule noam; after 0", NULL},
        {"early-stopping 3", NULL},
        {"early-stopping 3; valid-freq 0", "early-stopping is 3, but nothing is validated"},
        {"early-stopping 3; train-sets a", "early-stopping is 3, but nothing is validated"},
        {"early-stopping 3; train-sets a; valid-sets b", NULL},
        {"type lm; train-set a", NULL},
        {"type lm", "train-set must be given where type is lm"},
        {"train-set a", "train-set and valid-set are for type lm"},
        {"valid-set a", "train-set and valid-set are for type lm"},
        {"type lm; train-set a; train-sets b", "train-sets are two, but type lm has one text"},
        {"type lm; train-set a; valid-sets b", "valid-sets are two, but type lm has one text"},
        {"encoder-layers 0", "encoder-layers is 0, must be at least 1 unless type is lm"},
        {"type lm; train-set a; encoder-layers 2", "encoder-layers is 2, must be 0 where type"},
        {"type lm; train-set a; valid-metrics accuracy bleu", "valid-metrics are accuracy bleu"},
        {"type lm; train-set a; valid-metrics chrf", "valid-metrics are chrf, must be among"},
        {"type lm; train-set a; early-stopping 2", "early-stopping is 2, but nothing is validated"},
        {"type lm; train-set a; valid-set b; early-stopping 2", NULL},
        {"type lm; train-set a; positions learned; max-positions 40; max-length 40", NULL},
        {"type lm; train-set a; positions learned; max-positions 40; max-length 41",
         "max-length is 41, must be from 1 to 40"},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_settings s;
        assert_int_equal(wg_settings_init(&s), WG_OK);
        set_all(&s, cases[i].list);
        wg_status status = wg_settings_check(&s, &error);
        assert_int_equal(wg_settings_check(&s, NULL), status);
        check_that(status == (cases[i].message ? WG_EINVAL : WG_OK), "%s: %s", cases[i].list,
                   error.text);
        if (cases[i].message) {
            check_that(strstr(error.text, cases[i].message) != NULL, "%s: %s", cases[i].list,
                       error.text);
            error.text[strcspn(error.text, " ")] = '\0';
            check_that(wg_option_find(error.text) != NULL, "%s is no option", error.text);
        }
        wg_settings_free(&s);
    }
}

/* One vocabulary, and metrics or none. */
static void a_language_model_has_one_text(void **state)
{
    (void)state;
    static const char *const two[] = {"a", "b"};
    wg_settings s;
    assert_int_equal(wg_settings_init(&s), WG_OK);
    set_all(&s, "type lm; train-set a; vocabs a");
    free(s.valid_metrics);
    s.valid_metrics = NULL;
    check_that(wg_settings_check(&s, &error) == WG_OK, "%s", error.text);
    const wg_option *vocabs = wg_option_find("vocabs");
    assert_int_equal(wg_settings_assign(&s, vocabs, two, 2, &error), WG_OK);
    assert_int_equal(wg_settings_check(&s, &error), WG_EINVAL);
    check_that(strstr(error.text, "vocabs are two, but type lm has one text") != NULL, "%s",
               error.text);
    wg_settings_free(&s);
}

/* The longest sentences for which there is room, in batches and in a table of learned positions,
 * are trained on and validated with; pairs of the validation set that are longer are left out. */
static void the_longest_sentences_have_room(void **state)
{
    (void)state;
    static const char *const files[] = {"check_longest.a", "check_longest.b"};
    static const char tight[] =
        "vocab-kind chars; positions learned; max-positions 40; length-multiple 16; "
        "mini-batch-words 64; max-length 31; valid-freq 1u; after 1u";
    wg_settings s = small_training("training_longest", tight);
    assert_int_equal(wg_settings_longest(&s), 31);
    for (int side = 0; side < 2; side++) {
        FILE *f = fopen(files[side], "w");
        assert_non_null(f);
        for (int letters = 28; letters <= 40; letters++)
            fprintf(f, "%.*s\n", letters, "abcdefghijabcdefghijabcdefghijabcdefghij");
        fclose(f);
    }
    static const char *const sets[] = {"train-sets", "valid-sets"};
    for (int i = 0; i < 2; i++)
        assert_int_equal(wg_settings_assign(&s, wg_option_find(sets[i]), files, 2, &error), WG_OK);
    remove_folder(s.model);
    wg_trainer *t = trainer_of(&s, NULL);
    check_that(wg_trainer_run(t, NULL) == WG_OK, "%s", wg_trainer_message(t));
    assert_int_equal(wg_corpus_count(wgi_translation_of(t)->data.train), 4);
    assert_int_equal(wg_corpus_count(wgi_translation_of(t)->data.valid), 4);
    wg_trainer_free(t);
    remove_folder(s.model);
    unlink(files[0]);
    unlink(files[1]);
    wg_settings_free(&s);
}

/* A training that cannot be leaves nothing behind, and what was there as it was. */
static void a_refused_run_leaves_the_folder_as_it_was(void **state)
{
    (void)state;
    static const char *const bad[] = {"d-model 30; heads 4", "train-sets nothing"};
    for (int i = 0; i < 2; i++)
        for (int there = 0; there < 2; there++) {
            wg_settings s = small_training("training_not", "after 1u");
            size_t before = 0, after = 0;
            char *model = NULL;
            remove_folder(s.model);
            if (there) {
                train(&s, NULL, NULL);
                model = contents(s.model, WG_FILE_MODEL, &before);
            }
            set_all(&s, bad[i]);
            s.overwrite = true;
            wg_trainer *t;
            assert_int_equal(wg_translation_trainer(&t, &s, NULL, &error), i ? WG_EIO : WG_EINVAL);
            assert_null(t);
            check_that(access(s.model, F_OK) == (there ? 0 : -1), "%s: %s", bad[i], error.text);
            if (there) {
                char *same = contents(s.model, WG_FILE_MODEL, &after);
                assert_true(before == after && memcmp(model, same, before) == 0);
                free(same);
            }
            free(model);
            remove_folder(s.model);
            wg_settings_free(&s);
        }
}

#ifdef WG_HAVE_SENTENCEPIECE
/* --vocab-tokenized arrives where vocabularies are made: pieces end with U+2581, the mark of a
 * blank. */
static void tokenised_text_is_told_to_the_vocabularies(void **state)
{
    (void)state;
    for (int tokenized = 0; tokenized < 2; tokenized++) {
        wg_settings s = small_training("training_tokenised", "vocab-kind bpe; vocab-size 60");
        set(&s, "vocab-tokenized", tokenized ? "true" : "false");
        remove_folder(s.model);
        wg_trainer *t = trainer_of(&s, NULL);
        const wg_vocabulary *v = wgi_translation_of(t)->data.vocabularies.side[0];
        int starts = 0, ends = 0;
        for (int32_t id = 0; id < wg_vocabulary_size(v); id++) {
            const char *piece = wg_vocabulary_piece(v, id), *mark = strstr(piece, "\xe2\x96\x81");
            starts += mark == piece && mark[3];
            ends += mark && mark != piece && !mark[3];
        }
        check_that(tokenized ? ends > 5 && !starts : starts > 5 && !ends, "%d starts, %d ends",
                   starts, ends);
        wg_trainer_free(t);
        remove_folder(s.model);
        wg_settings_free(&s);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conflicting_settings_are_named),
        cmocka_unit_test(a_language_model_has_one_text),
        cmocka_unit_test(the_longest_sentences_have_room),
        cmocka_unit_test(a_refused_run_leaves_the_folder_as_it_was),
#ifdef WG_HAVE_SENTENCEPIECE
        cmocka_unit_test(tokenised_text_is_told_to_the_vocabularies),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
