// SentencePiece Unigram (Kudo 2018): the text is normalised, then cut into the pieces whose scores sum up to most.
#include "text/encode.h"
#include "text/utf8.h"
#include <algorithm>
#include <limits.h>

namespace llm {

// What stands for the beginning of `text` after normalisation, and how many bytes it stands for.
static charsmap_match next_normalized(const unigram_model *m, std::string_view text) {
    charsmap_match match = charsmap_find(m->normalizer, text);
    if (match.n > 0) return match;
    utf8_char c = utf8_next(text.data(), text.data() + text.size());
    return {c.n, c.well_formed ? text.substr(0, c.n) : std::string_view("\xEF\xBF\xBD")};
}

// note: white space at the end is taken off where it was a space, not where the text had U+2581 itself. SentencePiece
// takes both off; the file format's own reference does not.
static llm_status normalize(const tokenizer *t, std::string_view text, bool prefix, std::string *out, llm_error *err) {
    const unigram_model *m = &t->unigram;
    bool after_space = m->remove_extra_spaces, begun = false;
    size_t end_of_words = 0; // of *out
    out->clear();
    for (size_t at = 0, size = text.size(); at < size;) {
        charsmap_match next = next_normalized(m, text.substr(at));
        at += next.n;
        std::string_view piece = next.replacement;
        if (!begun && m->remove_extra_spaces && piece == " ") continue;
        if (!begun && prefix) out->append(space_mark);
        begun = true;
        if (after_space) piece.remove_prefix(std::min(piece.find_first_not_of(' '), piece.size()));
        for (char c : piece) {
            if (c == ' ') {
                out->append(space_mark);
            } else {
                out->push_back(c);
                end_of_words = out->size();
            }
        }
        if (!piece.empty()) after_space = m->remove_extra_spaces && piece.back() == ' ';
        if (out->size() > INT32_MAX / 2)
            return fail(err, LLM_ERR_ARGUMENT, "text of %zu bytes: more than %d after normalisation", size,
                        INT32_MAX / 2);
    }
    if (m->remove_extra_spaces) out->resize(end_of_words);
    return LLM_OK;
}

// A path to `end` whose last piece is `id`, -1 for an unknown one.
// note: the sum is compared in double and stored in float, as SentencePiece does. That decides between segmentations
// with equal scores ("1,000,000" as "00" "0" or "0" "00"): with float alone three texts of the reference data differ.
static void offer(best_path *end, double score, int32_t id, size_t n) {
    if (end->n == 0 || score > double(end->score)) *end = {float(score), id, uint32_t(n)};
}

// User-defined pieces win over everything that normal ones make of the same text.
static double piece_score(const tokenizer *t, int32_t id, size_t n) {
    bool user_defined = t->types[size_t(id)] == token_type::user_defined;
    return user_defined ? double(float(n) * t->unigram.best) - 0.1 : double(t->unigram.scores[size_t(id)]);
}

static void find_paths(const tokenizer *t, std::string_view text, std::vector<best_path> *paths) {
    const unigram_model *m = &t->unigram;
    paths->assign(text.size() + 1, best_path{0, -1, 0});
    for (size_t at = 0, n_char; at < text.size(); at += n_char) {
        n_char = utf8_next(text.data() + at, text.data() + text.size()).n;
        best_path *from = paths->data() + at;
        bool known = false;
        uint32_t node = 0;
        for (size_t n = 0; at + n < text.size() && !m->trie.nodes.empty();) {
            node = trie_step(m->trie, node, uint8_t(text[at + n]));
            if (node == 0) break;
            n++;
            int32_t id = m->trie.nodes[node].value;
            if (id < 0) continue;
            offer(from + n, piece_score(t, id, n) + double(from->score), id, n);
            known |= n == n_char;
        }
        if (!known) offer(from + n_char, double(m->unknown + from->score), -1, n_char);
    }
}

// Characters that are no piece are bytes where the vocabulary has them, else the unknown token, once for neighbours.
static void push_unknown(const tokenizer *t, std::string_view bytes, bool before_unknown, std::vector<int32_t> *ids) {
    bool has_bytes = std::all_of(bytes.begin(), bytes.end(), [t](char c) { return t->byte_ids[uint8_t(c)] >= 0; });
    if (has_bytes)
        for (size_t i = bytes.size(); i-- > 0;) ids->push_back(t->byte_ids[uint8_t(bytes[i])]);
    else if (!before_unknown && t->special.unk >= 0)
        ids->push_back(t->special.unk);
}

llm_status encode_unigram(const tokenizer *t, std::string_view text, bool after_special, encode_scratch *s,
                          std::vector<int32_t> *ids, llm_error *err) {
    LLM_TRY(normalize(t, text, t->add_space_prefix && after_special, &s->normalized, err));
    std::string_view all = s->normalized;
    find_paths(t, all, &s->paths);
    size_t n_before = ids->size();
    bool unknown = false;
    for (size_t end = all.size(); end > 0;) { // from the end
        const best_path &path = s->paths[end];
        end -= path.n;
        if (path.id >= 0)
            ids->push_back(path.id);
        else
            push_unknown(t, all.substr(end, path.n), unknown, ids);
        unknown = path.id < 0;
    }
    std::reverse(ids->begin() + ptrdiff_t(n_before), ids->end());
    return LLM_OK;
}

} // namespace llm
