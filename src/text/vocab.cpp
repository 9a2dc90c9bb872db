// Reading tokenizer.ggml.* into a tokenizer.
#include "text/vocab_load.h"
#include "text/byte_letters.h"
#include "text/hash.h"
#include "text/utf8.h"
#include <algorithm>
#include <iterator>
#include <limits.h>
#include <stdio.h>

namespace llm {

void text_index_build(text_index *index, const string_block &texts) {
    size_t n_slots = 16;
    while (n_slots < texts.size() * 2) n_slots *= 2;
    index->slots.assign(n_slots, 0);
    for (size_t id = 0; id < texts.size(); id++) {
        uint64_t tag = hash_text(texts[id]) >> 32;
        size_t at = tag & (n_slots - 1);
        for (; index->slots[at]; at = (at + 1) & (n_slots - 1)) {
            uint64_t slot = index->slots[at];
            if (slot >> 32 == tag && texts[size_t(uint32_t(slot) - 1)] == texts[id]) break;
        }
        index->slots[at] = tag << 32 | (id + 1);
    }
}

int32_t text_index_find(const text_index &index, const string_block &texts, std::string_view text) {
    uint64_t tag = hash_text(text) >> 32;
    size_t mask = index.slots.size() - 1;
    for (size_t at = tag & mask; index.slots[at]; at = (at + 1) & mask) {
        uint64_t slot = index.slots[at];
        if (slot >> 32 != tag) continue;
        int32_t id = int32_t(uint32_t(slot)) - 1;
        if (texts[size_t(id)] == text) return id;
    }
    return -1;
}

void append_with_spaces(std::string_view text, std::string *out) {
    for (size_t at = 0, mark; at < text.size(); at = mark + space_mark.size()) {
        mark = text.find(space_mark, at);
        out->append(text.substr(at, mark - at));
        if (mark == std::string_view::npos) break;
        out->push_back(' ');
    }
}

namespace {

// clang-format off
const kind_row kinds[] = {
    {"llama",  vocab_kind::spm,       1,   2,  0,   -1,  -1, true,  false, false},
    {"gpt2",   vocab_kind::bpe,       -1,  -1, -1,  -1,  -1, false, false, false},
    {"gemma4", vocab_kind::bpe,       -1,  -1, -1,  -1,  -1, false, false, false}, // raw, as its pre-tokenizer says
    {"t5",     vocab_kind::unigram,   -1,  1,  2,   -1,  0,  false, true,  false},
    {"bert",   vocab_kind::wordpiece, 101, -1, 100, 102, 0,  true,  false, true},
};
// clang-format on

llm_status read_kind(vocab_loader *l) {
    std::string_view model = gguf_string_or(l->file, "tokenizer.ggml.model", "");
    std::string known;
    for (const kind_row &row : kinds) {
        if (model == row.model) l->kind = &row;
        known.append(known.empty() ? "\"" : ", \"").append(row.model).append("\"");
    }
    if (l->kind) {
        l->t->kind = l->kind->kind;
        return LLM_OK;
    }
    if (model.empty())
        return fail(l->err, LLM_ERR_UNSUPPORTED, "the file has no vocabulary: tokenizer.ggml.model is missing");
    return fail(l->err, LLM_ERR_UNSUPPORTED,
                "vocabulary kind \"%.*s\" (tokenizer.ggml.model) is not supported; these are: %s", int(model.size()),
                model.data(), known.c_str());
}

llm_status read_texts(vocab_loader *l) {
    const gguf_value *tokens = gguf_find(l->file, "tokenizer.ggml.tokens");
    if (!tokens || !tokens->is_array || tokens->type != GGUF_STRING || tokens->strings.empty())
        return fail(l->err, LLM_ERR_DAMAGED, "tokenizer.ggml.tokens: expected an array of strings, found %s",
                    tokens ? "something else" : "nothing");
    size_t bytes = 0;
    for (std::string_view text : tokens->strings) bytes += text.size();
    if (bytes > INT32_MAX / 2 || tokens->strings.size() > INT32_MAX / 4)
        return fail(l->err, LLM_ERR_DAMAGED, "tokenizer.ggml.tokens: %zu tokens of %zu bytes are too many",
                    tokens->strings.size(), bytes);
    tokenizer *t = l->t;
    t->texts.bytes.reserve(bytes);
    t->texts.end.reserve(tokens->strings.size());
    for (std::string_view text : tokens->strings) {
        t->texts.push_back(text);
        t->longest_text = std::max(t->longest_text, text.size());
    }
    text_index_build(&t->by_text, t->texts);
    return LLM_OK;
}

// An array of numbers beside the tokens; absent is fine, another length is not.
llm_status find_numbers(vocab_loader *l, const char *key, const gguf_value **out) {
    *out = gguf_find(l->file, key);
    double probe;
    if (!*out) return LLM_OK;
    if (!(*out)->is_array || (*out)->count != l->t->texts.size() || !gguf_array_f64(*out, 0, &probe))
        return fail(l->err, LLM_ERR_DAMAGED, "%s: expected an array of %zu numbers, one a token, found %llu entries",
                    key, l->t->texts.size(), (unsigned long long)(*out)->count);
    return LLM_OK;
}

llm_status read_types(vocab_loader *l) {
    tokenizer *t = l->t;
    const gguf_value *types;
    LLM_TRY(find_numbers(l, "tokenizer.ggml.token_type", &types));
    t->types.assign(t->texts.size(), token_type::normal);
    t->flags.assign(t->texts.size(), 0);
    for (size_t i = 0; types && i < t->types.size(); i++) {
        double value = 1;
        gguf_array_f64(types, i, &value);
        t->types[i] = value >= 0 && value <= 6 ? token_type(int(value)) : token_type::undefined;
    }
    return LLM_OK;
}

llm_status read_scores(vocab_loader *l, std::vector<float> *out) {
    const gguf_value *scores;
    LLM_TRY(find_numbers(l, "tokenizer.ggml.scores", &scores));
    if (!scores)
        return fail(l->err, LLM_ERR_DAMAGED, "tokenizer.ggml.scores is missing: a \"%s\" vocabulary needs it",
                    l->kind->model);
    out->resize(l->t->texts.size());
    for (size_t i = 0; i < out->size(); i++) {
        double value = 0;
        gguf_array_f64(scores, i, &value);
        (*out)[i] = float(value) + 0.0f; // -0 becomes 0
    }
    return LLM_OK;
}

// Scores as integers that can be compared, whatever they are.
llm_status read_score_keys(vocab_loader *l) {
    std::vector<float> scores;
    LLM_TRY(read_scores(l, &scores));
    for (float score : scores) {
        uint32_t bits;
        memcpy(&bits, &score, sizeof bits);
        l->t->score_keys.push_back(bits & 0x80000000u ? bits : ~(bits | 0x80000000u)); // larger scores: smaller keys
    }
    return LLM_OK;
}

// ------------------------------------------------------------------ Unigram and WordPiece

llm_status read_charsmap(vocab_loader *l) {
    const gguf_value *value = gguf_find(l->file, "tokenizer.ggml.precompiled_charsmap");
    if (!value || value->count == 0) return LLM_OK;
    if (!value->is_array || (value->type != GGUF_I8 && value->type != GGUF_U8))
        return fail(l->err, LLM_ERR_DAMAGED,
                    "tokenizer.ggml.precompiled_charsmap: expected an array of bytes, found something else");
    return charsmap_load(&l->t->unigram.normalizer, value->data, l->err);
}

// Sums of scores stay finite: a path through the longest text has 2^30 pieces.
llm_status check_score(vocab_loader *l, size_t id, float score) {
    constexpr float most = 1e20f;
    if (score >= -most && score <= most) return LLM_OK;
    return fail(l->err, LLM_ERR_DAMAGED, "tokenizer.ggml.scores: token %zu has %g, expected a number up to %g", id,
                double(score), double(most));
}

llm_status read_unigram(vocab_loader *l) {
    constexpr float unknown_penalty = 10; // below the worst piece, as in SentencePiece
    tokenizer *t = l->t;
    unigram_model *m = &t->unigram;
    LLM_TRY(read_charsmap(l));
    LLM_TRY(read_scores(l, &m->scores));
    std::vector<trie_entry> pieces;
    bool any = false;
    for (size_t id = 0; id < m->scores.size(); id++) {
        token_type type = t->types[id];
        float score = m->scores[id], worst = m->unknown;
        LLM_TRY(check_score(l, id, score));
        if (type == token_type::normal || type == token_type::user_defined)
            pieces.push_back({t->texts[id], int32_t(id)});
        if (type != token_type::normal) continue;
        m->unknown = any ? std::min(worst, score) : score;
        m->best = any ? std::max(m->best, score) : score;
        any = true;
    }
    m->unknown -= unknown_penalty;
    trie_build(&m->trie, std::move(pieces));
    m->remove_extra_spaces = gguf_bool_or(l->file, "tokenizer.ggml.remove_extra_whitespaces", false);
    return LLM_OK;
}

void read_wordpiece(vocab_loader *l) {
    tokenizer *t = l->t;
    wordpiece_model *m = &t->wordpiece;
    std::vector<trie_entry> starts, rests;
    for (size_t id = 0; id < t->texts.size(); id++) {
        token_type type = t->types[id];
        if (type == token_type::control || type == token_type::unknown) continue;
        std::string_view text = t->texts[id];
        if (text.substr(0, space_mark.size()) == space_mark)
            starts.push_back({text.substr(space_mark.size()), int32_t(id)});
        else
            rests.push_back({text, int32_t(id)});
    }
    trie_build(&m->starts, std::move(starts));
    trie_build(&m->rests, std::move(rests));
    m->lowercase = gguf_bool_or(l->file, "tokenizer.ggml.normalizer.lowercase", true);
    m->strip_accents = gguf_bool_or(l->file, "tokenizer.ggml.normalizer.strip_accents", m->lowercase);
}

// ------------------------------------------------------------------ pre-tokenizer

llm_status choose_pre(vocab_loader *l) {
    std::string_view name = gguf_string_or(l->file, "tokenizer.ggml.pre", "");
    l->row = name.empty() ? pre_of_architecture(l->architecture) : pre_find(name);
    if (!l->row && l->pre_override) {
        l->row = pre_find(l->pre_override);
        if (!l->row) return fail(l->err, LLM_ERR_ARGUMENT, "pre-tokenizer \"%s\" is not known", l->pre_override);
    }
    if (!l->row && name.empty()) {
        l->row = pre_find("default");
        log_line(l->log, LLM_LOG_WARNING,
                 "tokenizer.ggml.pre is missing and unknown for architecture \"%.*s\": using \"default\"",
                 int(l->architecture.size()), l->architecture.data());
    }
    if (!l->row)
        return fail(l->err, LLM_ERR_UNSUPPORTED,
                    "pre-tokenizer \"%.*s\" (tokenizer.ggml.pre) is not known; tokenizer_pre (--tokenizer-pre) can "
                    "name one that splits "
                    "text alike, such as \"llama-bpe\" or \"qwen2\"",
                    int(name.size()), name.data());
    tokenizer *t = l->t;
    if (l->row->flags & PRE_RAW) t->kind = vocab_kind::raw;
    t->whole_words = l->row->flags & PRE_WHOLE_WORDS;
    t->normalize_nfc = normalizes_nfc(l->row, l->architecture);
    pre_tokenizer *pre = nullptr;
    LLM_TRY(pre_tokenizer_create(l->row, &pre, l->err));
    t->pre.reset(pre);
    return LLM_OK;
}

// ------------------------------------------------------------------ what tokens stand for

// -1 unless the text is "<0xHH>".
int byte_of_text(std::string_view text) {
    if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
    int value = 0;
    for (char c : text.substr(3, 2)) {
        const char *digits = "0123456789ABCDEF", *digit = strchr(digits, c >= 'a' && c <= 'f' ? c - 32 : c);
        if (!digit || !c) return -1;
        value = value * 16 + int(digit - digits);
    }
    return value;
}

void append_bytes_of_letters(std::string_view text, std::string *out) {
    for (const char *at = text.data(), *end = at + text.size(); at != end;) {
        utf8_char c = utf8_next(at, end);
        int byte = c.well_formed && c.code < letters.byte_of.size() ? letters.byte_of[c.code] : -1;
        if (byte >= 0)
            out->push_back(char(byte));
        else
            out->append(at, c.n);
        at += c.n;
    }
}

std::string byte_name(int byte) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", unsigned(byte));
    return name;
}

// Gemma 4's byte tokens are stored as normal ones: they count as bytes where all 256 are there.
void retype_bytes(tokenizer *t) {
    if (t->kind != vocab_kind::raw) return;
    int32_t ids[256];
    for (int byte = 0; byte < 256; byte++) {
        ids[byte] = find_text(t, byte_name(byte));
        if (ids[byte] < 0) return;
    }
    for (int32_t id : ids) t->types[size_t(id)] = token_type::byte;
}

void make_pieces(tokenizer *t) {
    t->pieces.bytes.reserve(t->texts.bytes.size());
    t->pieces.end.reserve(t->texts.size());
    for (size_t i = 0; i < t->texts.size(); i++) {
        std::string_view text = t->texts[i];
        std::string *out = &t->pieces.bytes;
        int byte = t->types[i] == token_type::byte ? byte_of_text(text) : -1;
        bool as_it_is = t->types[i] == token_type::control || t->types[i] == token_type::unknown ||
                        t->types[i] == token_type::user_defined;
        if (byte >= 0)
            out->push_back(char(byte));
        else if (as_it_is)
            out->append(text);
        else if (t->kind == vocab_kind::bpe)
            append_bytes_of_letters(text, out);
        else
            append_with_spaces(text, out);
        t->pieces.end.push_back(uint32_t(out->size()));
    }
}

void find_byte_ids(tokenizer *t) {
    for (int byte = 0; byte < 256; byte++) {
        std::string text;
        if (t->kind == vocab_kind::bpe)
            utf8_append(&text, letters.letter_of[size_t(byte)]);
        else
            text = byte_name(byte);
        // An added token may be spelt like a byte's letter (deepseek has some); it stands for that text, not the byte.
        int32_t id = find_text(t, text);
        char plain = char(byte);
        bool is_byte = id >= 0 && !is_special_type(t, id) && t->pieces[size_t(id)] == std::string_view(&plain, 1);
        t->byte_ids[size_t(byte)] = is_byte ? id : -1;
    }
}

void find_space_joints(tokenizer *t) {
    for (size_t i = 0; i < t->texts.size(); i++) {
        std::string_view text = t->texts[i];
        for (size_t at = 1; (at = text.find(space_mark, at)) != std::string_view::npos; at++)
            t->joins_space[uint8_t(text[at - 1])] = true;
    }
}

void find_ascii_pieces(tokenizer *t) {
    t->ascii_ids.assign(128 * 129, -1);
    for (size_t i = 0; i < t->texts.size(); i++) {
        size_t at = ascii_index(t->texts[i]);
        if (at == SIZE_MAX) continue;
        int32_t id = find_text(t, t->texts[i]); // of equal texts the one that counts
        t->ascii_ids[at] = is_piece(t, id) ? id : -1;
    }
}

// ------------------------------------------------------------------ merges

bool is_joined(std::string_view text, std::string_view left, std::string_view right) {
    return text.size() == left.size() + right.size() && text.substr(0, left.size()) == left &&
           text.substr(left.size()) == right;
}

// The union of a merge is mostly that of the merge before or the token after it: no look-up then.
int32_t find_joined(const tokenizer *t, std::string_view left, std::string_view right, int32_t last,
                    std::string *both) {
    for (int32_t guess : {last, last + 1})
        if (guess >= 0 && size_t(guess) < t->texts.size() && is_joined(t->texts[size_t(guess)], left, right))
            return guess;
    both->assign(left).append(right);
    return find_text(t, *both);
}

// Of equal rules the first counts.
void add_merge(merge_table *table, int32_t left, int32_t right, size_t rank, int32_t merged) {
    std::vector<merge_rule> &slots = table->slots;
    uint64_t pair = uint64_t(uint32_t(left)) << 32 | uint32_t(right);
    size_t at = merge_slot(pair, slots.size());
    while (slots[at].pair != UINT64_MAX && slots[at].pair != pair) at = at + 1 < slots.size() ? at + 1 : 0;
    if (slots[at].pair != pair) slots[at] = {pair, uint32_t(rank), merged};
}

// note: the time goes into cache misses (gpt-oss: 446 189 merges, 140 ms). Starting look-ups some merges ahead with
// prefetches did not help: the processor already overlaps them.
llm_status read_merges(vocab_loader *l) {
    const gguf_value *merges = gguf_find(l->file, "tokenizer.ggml.merges");
    if (!merges || !merges->is_array || merges->type != GGUF_STRING)
        return fail(l->err, LLM_ERR_DAMAGED, "tokenizer.ggml.merges: expected an array of strings, found %s",
                    merges ? "something else" : "nothing");
    tokenizer *t = l->t;
    size_t n = merges->strings.size(), n_lost = 0;
    if (n > INT32_MAX / 4) return fail(l->err, LLM_ERR_DAMAGED, "tokenizer.ggml.merges: %zu entries are too many", n);
    t->merges.slots.assign(n * 3 / 2 + 16, merge_rule{});
    std::string both;
    int32_t last = -1;
    for (size_t rank = 0; rank < n; rank++) {
        std::string_view text = merges->strings[rank];
        size_t space = text.find(' ', 1);
        std::string_view left = text.substr(0, space), right = space < text.size() ? text.substr(space + 1) : "";
        int32_t left_id = find_text(t, left), right_id = find_text(t, right);
        int32_t merged = (left_id | right_id) < 0 ? -1 : find_joined(t, left, right, last, &both);
        if (merged >= 0)
            add_merge(&t->merges, left_id, right_id, rank, last = merged);
        else
            n_lost++;
    }
    if (n_lost > 0)
        log_line(l->log, LLM_LOG_WARNING, "%zu of %zu merges name tokens that the vocabulary lacks and are left out",
                 n_lost, n);
    return LLM_OK;
}

// Text never becomes a control token: not by merging either.
void forbid_control_merges(tokenizer *t) {
    for (merge_rule &rule : t->merges.slots)
        if (rule.merged >= 0 && is_special_type(t, rule.merged)) rule.merged = -1;
}

llm_status load(vocab_loader *l) {
    tokenizer *t = l->t;
    LLM_TRY(read_kind(l));
    LLM_TRY(read_texts(l));
    LLM_TRY(read_types(l));
    vocab_read_special(l);
    switch (t->kind) {
    case vocab_kind::spm:
        LLM_TRY(read_score_keys(l));
        find_space_joints(t);
        find_ascii_pieces(t);
        break;
    case vocab_kind::unigram: LLM_TRY(read_unigram(l)); break;
    case vocab_kind::wordpiece: read_wordpiece(l); break;
    case vocab_kind::bpe:
    case vocab_kind::raw:
        LLM_TRY(choose_pre(l)); // which of the two it is
        LLM_TRY(read_merges(l));
        if (t->kind == vocab_kind::raw) find_space_joints(t);
        break;
    }
    retype_bytes(t);
    make_pieces(t);
    find_byte_ids(t);
    forbid_control_merges(t);
    vocab_read_additions(l);
    t->special.nl = vocab_find_line_end(t);
    vocab_mark_space_eaters(l);
    vocab_collect_added(t);
    return LLM_OK;
}

} // namespace

llm_status tokenizer_load(const gguf_file *file, const char *pre_override, const log_sink *log, tokenizer **out,
                          llm_error *err) {
    std::unique_ptr<tokenizer> t = std::make_unique<tokenizer>();
    vocab_loader l{file,    pre_override, log,    err, gguf_string_or(file, "general.architecture", ""),
                   nullptr, nullptr,      t.get()};
    LLM_TRY(load(&l));
    *out = t.release();
    return LLM_OK;
}

void tokenizer_free(tokenizer *t) { delete t; }

} // namespace llm
