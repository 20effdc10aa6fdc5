// SentencePiece behind a few C functions.  Exceptions end here; statuses become messages.
#include "wengert/text/vocabulary.h"
extern "C" { // what is left are internal headers, which know nothing of C++
#include "text/sentencepiece/sentencepiece.h"
}

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sp = sentencepiece;

struct wgi_spm {
    sp::SentencePieceProcessor processor;
    std::string bytes;
};

namespace
{

// Calls f and turns what it throws into a status.
template <class F> wg_status guarded(wg_error *error, F f) noexcept
{
    try {
        return f();
    } catch (const std::bad_alloc &) {
        return wgi_error_set(error, WG_ENOMEM, "no memory for SentencePiece");
    } catch (const std::exception &e) {
        return wgi_error_set(error, WG_EDATA, "SentencePiece: %s", e.what());
    } catch (...) {
        return wgi_error_set(error, WG_EDATA, "SentencePiece failed");
    }
}

// What f returns, or `otherwise` if it throws.
template <class Result, class F> Result guarded_value(Result otherwise, F f) noexcept
{
    try {
        return f();
    } catch (...) {
        return otherwise;
    }
}

// A failed check reads "Internal: FILE(LINE) [CONDITION] WHAT IS WRONG", of which people want the
// end.
wg_status refused(wg_error *error, const sp::util::Status &status)
{
    const std::string text = status.ToString();
    const size_t condition = text.find(")] ");
    return wgi_error_set(error, WG_EDATA, "SentencePiece: %s",
                         text.c_str() + (condition < text.size() - 3 ? condition + 3 : 0));
}

// Bytes of the part with which a text begins: all of a short one, otherwise up to the last blank
// that is near enough, or without one as many whole characters as fit.
size_t first_part(const char *text, size_t size)
{
    if (size <= WGI_SPM_PART)
        return size;
    for (size_t n = WGI_SPM_PART; n > 0; n--)
        if (text[n] == ' ')
            return n;
    size_t n = WGI_SPM_PART;
    while (n > 1 && (text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

// The lines of a text, the longest left out, in parts: the trainer of BPE crashes on words of more
// than 32,767 characters.
class Lines final : public sp::SentenceIterator
{
  public:
    Lines(const char *text, size_t size) : rest{text, size}
    {
        Next();
    }
    bool done() const override
    {
        return at_end;
    }
    void Next() override
    {
        while (!at_end && !left.size) {
            at_end = !wgi_next_line(&rest, &left);
            if (left.size > WGI_SPM_LONGEST)
                left.size = 0;
        }
        const size_t n = first_part(left.text, left.size);
        const size_t with_blank = n + (n < left.size && left.text[n] == ' ');
        part.assign(left.text, n);
        left = {left.text + with_blank, left.size - with_blank};
    }
    const std::string &value() const override
    {
        return part;
    }
    sp::util::Status status() const override
    {
        return {};
    }

  private:
    wgi_slice rest, left = {"", 0}; // lines, and what is left of this one
    std::string part;
    bool at_end = false;
};

wg_status open_model(wgi_spm **out, std::string bytes, wg_error *error)
{
    auto s = std::make_unique<wgi_spm>();
    s->bytes = std::move(bytes);
    const sp::util::Status status = s->processor.LoadFromSerializedProto(s->bytes);
    if (!status.ok())
        return refused(error, status);
    *out = s.release();
    return WG_OK;
}

} // namespace

// Text stays as it is (`identity`), so that decoding gives back the same tokens.  The number of
// threads is fixed because sums of a unigram model are split by it.
wg_status wgi_spm_train(wgi_spm **out, const wg_vocabulary_options *o, const char *text,
                        size_t text_size, wg_error *error)
{
    return guarded(error, [&] {
        const char *const tokenized = o->tokenized ? "true" : "false";
        const char *const splits = o->tokenized ? "false" : "true";
        const std::unordered_map<std::string, std::string> options = {
            {"model_type", o->kind == WG_VOCABULARY_BPE ? "bpe" : "unigram"},
            {"vocab_size", std::to_string(o->size)},
            {"hard_vocab_limit", "false"},
            {"character_coverage", "1.0"},
            {"byte_fallback", "false"},
            {"treat_whitespace_as_suffix", tokenized},
            {"split_by_unicode_script", splits},
            {"split_by_number", splits},
            {"normalization_rule_name", "identity"},
            {"max_sentence_length", std::to_string(WGI_SPM_LONGEST)},
            {"num_threads", "4"},
            {"minloglevel", "3"},
            {"pad_id", "0"},
            {"bos_id", "1"},
            {"eos_id", "2"},
            {"unk_id", "3"},
        };
        Lines lines(text, text_size);
        std::string bytes;
        const sp::util::Status status = sp::SentencePieceTrainer::Train(options, &lines, &bytes);
        return status.ok() ? open_model(out, std::move(bytes), error) : refused(error, status);
    });
}

wg_status wgi_spm_open(wgi_spm **out, const char *bytes, size_t size, wg_error *error)
{
    return guarded(error, [&] { return open_model(out, std::string(bytes, size), error); });
}

void wgi_spm_free(wgi_spm *s)
{
    delete s;
}

const char *wgi_spm_bytes(const wgi_spm *s, size_t *size)
{
    *size = s->bytes.size();
    return s->bytes.data();
}

int64_t wgi_spm_size(const wgi_spm *s)
{
    return guarded_value<int64_t>(0, [&] { return s->processor.GetPieceSize(); });
}

int32_t wgi_spm_special(const wgi_spm *s, int which)
{
    return guarded_value<int32_t>(-1, [&] {
        switch (which) {
        case WGI_PAD: return s->processor.pad_id();
        case WGI_BOS: return s->processor.bos_id();
        case WGI_EOS: return s->processor.eos_id();
        default: return s->processor.unk_id();
        }
    });
}

const char *wgi_spm_piece(const wgi_spm *s, int32_t id)
{
    return guarded_value<const char *>("", [&] { return s->processor.IdToPiece(id).c_str(); });
}

wg_status wgi_spm_encode(const wgi_spm *s, const char *text, size_t size, int32_t **ids,
                         size_t *n_ids)
{
    return guarded(nullptr, [&] {
        std::vector<int> found, part;
        for (bool more = true; more;) {
            size_t n = first_part(text, size);
            if (!s->processor.Encode({text, n}, &part).ok())
                return WG_EDATA;
            found.insert(found.end(), part.begin(), part.end());
            more = n < size;
            n += more && text[n] == ' ';
            text += n;
            size -= n;
        }
        *ids = static_cast<int32_t *>(std::malloc((found.size() + 1) * sizeof **ids));
        if (!*ids)
            return WG_ENOMEM;
        std::copy(found.begin(), found.end(), *ids);
        *n_ids = found.size();
        return WG_OK;
    });
}

// Marks the end of the word instead of its start, as pieces of tokenised text do.
static bool ends_word(const std::string &piece)
{
    static const std::string blank = "\xe2\x96\x81"; // U+2581
    return piece.size() >= blank.size() &&
           piece.compare(piece.size() - blank.size(), blank.size(), blank) == 0;
}

// SentencePiece takes away the blank before the first word, but not that behind the last one.
static wg_status copy_text(std::string found, const std::string &last_piece, char **text)
{
    if (!found.empty() && found.back() == ' ' && ends_word(last_piece))
        found.pop_back();
    *text = static_cast<char *>(std::malloc(found.size() + 1));
    if (!*text)
        return WG_ENOMEM;
    std::memcpy(*text, found.c_str(), found.size() + 1);
    return WG_OK;
}

wg_status wgi_spm_decode(const wgi_spm *s, const int32_t *ids, size_t n_ids, char **text)
{
    return guarded(nullptr, [&] {
        std::vector<int> kept;
        for (size_t i = 0; i < n_ids; i++)
            if (!s->processor.IsControl(ids[i]))
                kept.push_back(ids[i]);
        std::string found;
        if (!s->processor.Decode(kept, &found).ok())
            return WG_EDATA;
        return copy_text(found, kept.empty() ? "" : s->processor.IdToPiece(kept.back()), text);
    });
}

wg_status wgi_spm_join(const wgi_spm *s, const char *const *pieces, size_t n, char **text)
{
    return guarded(nullptr, [&] {
        const std::vector<std::string> all(pieces, pieces + n);
        std::string found;
        if (!s->processor.Decode(all, &found).ok())
            return WG_EDATA;
        return copy_text(found, n ? all.back() : "", text);
    });
}
