#include "text/pretokenizer.h"
#include "text/utf8.h"
#include <utf8proc.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <algorithm>
#include <memory>

namespace llm {

struct compiled_step {
    pcre2_code *pattern = nullptr; // NULL for steps without one
    bool starts[256] = {};         // bytes a match can begin with
};

struct pre_tokenizer {
    std::vector<compiled_step> steps;
};

struct pre_scratch {
    pcre2_match_data *match = nullptr;
    pcre2_match_context *limits = nullptr;
    std::vector<uint32_t> pieces; // ends, before the current step
};

// note: the patterns of the table need constant memory and a few steps a character. The limits only contain a mistake
// in them; texts cannot reach them.
constexpr uint32_t heap_limit_kib = 20 * 1024;
constexpr uint32_t steps_per_byte = 16, least_steps = 10000;

pre_scratch *pre_scratch_create() {
    pre_scratch *s = new pre_scratch;
    s->match = pcre2_match_data_create(1, nullptr);
    s->limits = pcre2_match_context_create(nullptr);
    if (!s->match || !s->limits) {
        pre_scratch_free(s);
        return nullptr;
    }
    pcre2_set_heap_limit(s->limits, heap_limit_kib);
    return s;
}

void pre_scratch_free(pre_scratch *s) {
    if (!s) return;
    pcre2_match_data_free(s->match);
    pcre2_match_context_free(s->limits);
    delete s;
}

static llm_status compile(const char *pattern, const char *name, pcre2_code **out, llm_error *err) {
    int code = 0;
    PCRE2_SIZE at = 0;
    *out = pcre2_compile(PCRE2_SPTR(pattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                         &code, &at, nullptr);
    if (*out) return LLM_OK;
    char text[120] = "";
    pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR *>(text), sizeof text);
    return fail(err, LLM_ERR_INTERNAL, "split pattern of pre-tokenizer \"%s\" does not compile: %s at offset %zu", name,
                text, size_t(at));
}

// Asks PCRE2 for each ASCII character whether a match could begin with it, whatever follows: "partial" matching says no
// only then. Steps that look for digits or line ends so pass over most pieces without a call (deepseek-llm's six steps:
// 5.1 -> 7.4 MB/s on prose).
static bool find_starts(compiled_step *step) {
    pcre2_match_data *match = pcre2_match_data_create(1, nullptr);
    if (!match) return false;
    constexpr uint32_t options = PCRE2_ANCHORED | PCRE2_PARTIAL_HARD | PCRE2_NO_UTF_CHECK;
    for (int byte = 0; byte < 256; byte++) {
        PCRE2_UCHAR text = PCRE2_UCHAR(byte);
        step->starts[byte] =
            byte >= 0x80 || pcre2_match(step->pattern, &text, 1, 0, options, match, nullptr) != PCRE2_ERROR_NOMATCH;
    }
    pcre2_match_data_free(match);
    return true;
}

llm_status pre_tokenizer_create(const pre_row *row, pre_tokenizer **out, llm_error *err) {
    std::unique_ptr<pre_tokenizer, void (*)(pre_tokenizer *)> p(new pre_tokenizer, pre_tokenizer_free);
    p->steps.resize(row->family.n_steps);
    for (size_t i = 0; i < p->steps.size(); i++) {
        const split_step &step = row->family.steps[i];
        if (step.op != split_op::regex) continue;
        LLM_TRY(compile(step.pattern, row->name, &p->steps[i].pattern, err));
        if (!find_starts(&p->steps[i])) return fail(err, LLM_ERR_NOMEM, "pre-tokenizer \"%s\": no memory", row->name);
    }
    *out = p.release();
    return LLM_OK;
}

void pre_tokenizer_free(pre_tokenizer *p) {
    if (!p) return;
    for (compiled_step &step : p->steps) pcre2_code_free(step.pattern);
    delete p;
}

// Adds an end unless the piece before it would be empty.
static void cut(std::vector<uint32_t> *ends, size_t begin, size_t end) {
    if (end > begin) ends->push_back(uint32_t(end));
}

// A piece is matched as a text of its own: look-arounds see nothing beyond it, as in the originals.
static llm_status split_by_regex(const compiled_step &step, std::string_view text, size_t begin, size_t end,
                                 pre_scratch *s, std::vector<uint32_t> *ends, llm_error *err) {
    PCRE2_SPTR piece = PCRE2_SPTR(text.data() + begin);
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(s->match);
    size_t at = 0, n = end - begin;
    for (size_t start = 0;; start = at) {
        while (start < n && !step.starts[piece[start]]) start++;
        if (start == n) break;
        int rc = pcre2_match(step.pattern, piece, n, start, PCRE2_NO_UTF_CHECK, s->match, s->limits);
        if (rc == PCRE2_ERROR_NOMATCH) break;
        if (rc == PCRE2_ERROR_NOMEMORY) return fail(err, LLM_ERR_NOMEM, "splitting %zu bytes of text: no memory", n);
        if (rc < 0 || found[1] <= at)
            return fail(err, LLM_ERR_INTERNAL, "splitting text: PCRE2 code %d at byte %zu of %zu", rc, at, n);
        cut(ends, begin + at, begin + found[0]);
        cut(ends, begin + found[0], begin + found[1]);
        at = found[1];
    }
    cut(ends, begin + at, end);
    return LLM_OK;
}

static utf8proc_category_t category(uint32_t code) { return utf8proc_category(utf8proc_int32_t(code)); }

static bool is_digit(uint32_t code) {
    return code < 0x80 ? code >= '0' && code <= '9' : category(code) == UTF8PROC_CATEGORY_ND;
}

static bool is_number(uint32_t code) {
    if (code < 0x80) return code >= '0' && code <= '9';
    utf8proc_category_t c = category(code);
    return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

// Bytes of the leading digits of `text`, and their number.
static size_t digit_run(std::string_view text, size_t *n_digits) {
    const char *at = text.data(), *end = at + text.size();
    *n_digits = 0;
    for (utf8_char c; (c = utf8_next(at, end)).n > 0 && is_digit(c.code); at += c.n) ++*n_digits;
    return size_t(at - text.data());
}

static bool only_numbers(std::string_view text) {
    const char *at = text.data(), *end = at + text.size();
    utf8_char c;
    while ((c = utf8_next(at, end)).n > 0 && is_number(c.code)) at += c.n;
    return at == end;
}

// One or two digits at the left of a run stay with what is before them: they are no group.
static void split_digits_by_3(std::string_view text, size_t begin, size_t end, std::vector<uint32_t> *ends) {
    std::string_view piece = text.substr(begin, end - begin);
    size_t cut_at = 0;
    if (only_numbers(piece)) {
        for (size_t at = 0, n_digits = 0; at < piece.size();) {
            size_t run_end = at + digit_run(piece.substr(at), &n_digits);
            for (; n_digits > 0; n_digits--) {
                if (n_digits % 3 == 0) {
                    cut(ends, begin + cut_at, begin + at);
                    cut_at = at;
                }
                at += utf8_next(piece.data() + at, piece.data() + run_end).n;
            }
            at = run_end;
            if (at < piece.size()) at += utf8_next(piece.data() + at, piece.data() + piece.size()).n;
        }
    }
    cut(ends, begin + cut_at, end);
}

llm_status pre_tokenize(const pre_tokenizer *p, std::string_view text, pre_scratch *s, std::vector<uint32_t> *ends,
                        llm_error *err) {
    ends->clear();
    if (text.empty()) return LLM_OK;
    uint64_t steps = uint64_t(text.size()) * steps_per_byte + least_steps;
    pcre2_set_match_limit(s->limits, uint32_t(std::min<uint64_t>(steps, UINT32_MAX)));
    ends->push_back(uint32_t(text.size()));
    for (const compiled_step &step : p->steps) {
        s->pieces.swap(*ends);
        ends->clear();
        size_t begin = 0;
        for (uint32_t end : s->pieces) {
            if (step.pattern)
                LLM_TRY(split_by_regex(step, text, begin, end, s, ends, err));
            else
                split_digits_by_3(text, begin, end, ends);
            begin = end;
        }
    }
    return LLM_OK;
}

} // namespace llm
