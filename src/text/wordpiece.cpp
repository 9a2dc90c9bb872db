// WordPiece (BERT): the text is cleaned, cut into words at white space, punctuation and Chinese characters, and each
// word into the longest tokens from the left.
#include "text/encode.h"
#include "text/nfc.h"
#include "text/unicode.h"
#include "text/utf8.h"
#include <utf8proc.h>

namespace llm {

constexpr size_t longest_word = 100; // characters; longer ones are the unknown token

static utf8proc_category_t category(uint32_t code) { return utf8proc_category(utf8proc_int32_t(code)); }

// Characters that vanish: controls, format characters, private use, what is ill-formed.
static bool is_dropped(uint32_t code) {
    if (code < 0x80) return code < 0x20 ? code != '\t' && code != '\n' && code != '\r' : code == 0x7F;
    utf8proc_category_t c = category(code);
    return code == replacement_character || c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF ||
           c == UTF8PROC_CATEGORY_CO;
}

static bool ends_chunk(uint32_t code) { return is_white_space(code) && !is_dropped(code); }

static bool is_punctuation(uint32_t code) {
    if (code < 0x80)
        return code > ' ' && code < 0x7F && !(code >= '0' && code <= '9') &&
               !((code | 32) >= 'a' && (code | 32) <= 'z');
    utf8proc_category_t c = category(code);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

// The blocks of BERT's own list. U+2B820 to U+2B91F are missing there too.
static bool is_chinese(uint32_t code) {
    if (code < 0x3400) return false;
    static const struct {
        uint32_t first, last;
    } blocks[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
                  {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
    for (const auto &block : blocks)
        if (code >= block.first && code <= block.last) return true;
    return false;
}

static void append_lower(uint32_t code, std::vector<int32_t> *codes) {
    if (code == 0x130) { // the only character whose small form is two
        codes->insert(codes->end(), {'i', 0x307});
    } else if (code < 0x80) {
        codes->push_back(int32_t(code >= 'A' && code <= 'Z' ? code + 32 : code));
    } else {
        codes->push_back(utf8proc_tolower(utf8proc_int32_t(code)));
    }
}

static void push_unknown(const tokenizer *t, std::vector<int32_t> *ids) {
    if (t->special.unk >= 0) ids->push_back(t->special.unk);
}

static void encode_word(const tokenizer *t, std::string_view word, size_t n_chars, std::vector<int32_t> *ids) {
    if (n_chars > longest_word) return push_unknown(t, ids);
    size_t n_before = ids->size();
    for (size_t at = 0; at < word.size();) {
        trie_match match = trie_longest(at == 0 ? t->wordpiece.starts : t->wordpiece.rests, word.substr(at));
        if (match.n == 0) { // then the whole word is unknown
            ids->resize(n_before);
            return push_unknown(t, ids);
        }
        ids->push_back(match.value);
        at += match.n;
    }
}

// Decomposed characters of a stretch without white space or Chinese: accents go, then letters become small.
static void normalize_stretch(const tokenizer *t, std::vector<int32_t> *codes, std::vector<int32_t> *out) {
    out->clear();
    if (t->wordpiece.strip_accents) sort_marks(codes);
    for (int32_t code : *codes) {
        if (t->wordpiece.strip_accents && code >= 0x300 && category(uint32_t(code)) == UTF8PROC_CATEGORY_MN) continue;
        if (t->wordpiece.lowercase)
            append_lower(uint32_t(code), out);
        else
            out->push_back(code);
    }
    codes->clear();
}

static void encode_stretch(const tokenizer *t, encode_scratch *s, std::vector<int32_t> *ids) {
    normalize_stretch(t, &s->codes, &s->letters);
    size_t n_chars = 0;
    auto end_word = [&] {
        if (n_chars > 0) encode_word(t, s->word, n_chars, ids);
        s->word.clear();
        n_chars = 0;
    };
    s->word.clear();
    for (int32_t code : s->letters) {
        bool alone = is_punctuation(uint32_t(code));
        if (alone) end_word();
        utf8_append(&s->word, uint32_t(code));
        n_chars++;
        if (alone) end_word();
    }
    end_word();
}

// A chunk is what stands between white space: its ids depend on nothing else.
static void encode_chunk(const tokenizer *t, std::string_view chunk, encode_scratch *s, std::vector<int32_t> *ids) {
    s->codes.clear();
    for (const char *at = chunk.data(), *end = at + chunk.size(); at != end;) {
        utf8_char c = utf8_next(at, end);
        at += c.n;
        if (!c.well_formed || is_dropped(c.code)) continue;
        bool alone = is_chinese(c.code);
        if (alone) encode_stretch(t, s, ids);
        if (t->wordpiece.strip_accents)
            append_decomposed(c.code, &s->codes);
        else
            s->codes.push_back(int32_t(c.code));
        if (alone) encode_stretch(t, s, ids);
    }
    encode_stretch(t, s, ids);
}

static size_t chunk_end(std::string_view text, size_t at, size_t *next) {
    for (*next = at; at < text.size(); at = *next) {
        utf8_char c = utf8_next(text.data() + at, text.data() + text.size());
        *next = at + c.n;
        if (c.well_formed && ends_chunk(c.code)) break;
    }
    return at;
}

void encode_wordpiece(const tokenizer *t, std::string_view text, encode_scratch *s, std::vector<int32_t> *ids) {
    for (size_t begin = 0, end, next; begin < text.size(); begin = next) {
        end = chunk_end(text, begin, &next);
        std::string_view chunk = text.substr(begin, end - begin);
        seen_word *slot;
        if (chunk.empty() || encode_seen_word(chunk, s, ids, &slot)) continue;
        size_t first_id = ids->size();
        encode_chunk(t, chunk, s, ids);
        encode_remember_word(chunk, first_id, *ids, s, slot);
    }
}

} // namespace llm
