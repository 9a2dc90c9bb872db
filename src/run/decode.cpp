// llm_decode: checks a batch, appends it to its sequences as a transaction, cuts it into passes.
#include "run/context.h"
#include <algorithm>

namespace llm {

namespace {

constexpr int32_t MAX_POSITION = 1 << 26; // the rotary angles are exact to there

llm_seq seq_of(const llm_batch *b, uint32_t i) { return b->seq ? b->seq[i] : 0; }
int32_t span_of(const llm_batch *b, uint32_t i) { return b->span ? b->span[i] : 0; }

uint8_t want_of(const llm_batch *b, uint32_t i) {
    if (b->want) return b->want[i];
    return i + 1 == b->n_tokens ? LLM_WANT_LOGITS : LLM_WANT_NOTHING;
}

llm_status check_fields(const context *c, const llm_batch *b, llm_error *err) {
    if (b->n_tokens == 0) return fail(err, LLM_ERR_ARGUMENT, "the batch has no tokens");
    if (b->n_tokens > (1u << 26))
        return fail(err, LLM_ERR_ARGUMENT, "the batch has %u tokens; at most 2^26 are possible", b->n_tokens);
    if (!b->tokens && !b->embd) return fail(err, LLM_ERR_ARGUMENT, "the batch has neither tokens nor embeddings");
    if (b->embd && b->n_embd_rows > 1)
        return fail(err, LLM_ERR_UNSUPPORTED, "n_embd_rows is %u; architecture %s takes 1", b->n_embd_rows,
                    c->m->architecture.c_str());
    if (b->pos && b->n_pos > 1)
        return fail(err, LLM_ERR_UNSUPPORTED, "n_pos is %u; architecture %s takes 1", b->n_pos,
                    c->m->architecture.c_str());
    return LLM_OK;
}

llm_status check_token(const context *c, const llm_batch *b, uint32_t i, llm_error *err) {
    int32_t id = b->tokens ? b->tokens[i] : -1;
    if (id >= (int64_t)c->m->h.n_vocab || id < -1 || (id == -1 && !b->embd))
        return fail(err, LLM_ERR_ARGUMENT, "token %u has id %d; the vocabulary has %llu", i, id,
                    (unsigned long long)c->m->h.n_vocab);
    llm_seq seq = seq_of(b, i);
    if (seq < 0 || (size_t)seq >= c->kv.sequences.size())
        return fail(err, LLM_ERR_ARGUMENT, "token %u is for sequence %d; the context has %zu", i, seq,
                    c->kv.sequences.size());
    if (span_of(b, i) < 0)
        return fail(err, LLM_ERR_ARGUMENT, "token %u has span %d; expected 0 or more", i, b->span[i]);
    const weight *learned = model_matrix(c->m, ROLE_POSITION_EMBD);
    int64_t most = learned ? (int64_t)learned->rows : MAX_POSITION;
    if (b->pos && (b->pos[i] < 0 || b->pos[i] >= most))
        return fail(err, LLM_ERR_ARGUMENT, "token %u has position %d; expected 0 to %lld", i, b->pos[i],
                    (long long)most - 1);
    return LLM_OK;
}

llm_status check_room(context *c, const llm_batch *b, llm_error *err) {
    std::fill(c->n_appended.begin(), c->n_appended.end(), 0);
    for (uint32_t i = 0; i < b->n_tokens; i++) {
        LLM_TRY(check_token(c, b, i, err));
        c->n_appended[seq_of(b, i)]++;
    }
    for (size_t s = 0; s < c->kv.sequences.size(); s++) {
        uint64_t n = c->kv.sequences[s].n, more = c->n_appended[s];
        if (n + more > c->n_ctx)
            return fail(err, LLM_ERR_CONTEXT_FULL, "sequence %zu needs %llu places; it has %llu left of %u", s,
                        (unsigned long long)more, (unsigned long long)(c->n_ctx - n), c->n_ctx);
    }
    return LLM_OK;
}

void roll_back(context *c) {
    for (uint32_t s = 0; s < c->kv.sequences.size(); s++)
        if (c->n_appended[s]) kv_roll_back(&c->kv, s);
}

llm_status extend(context *c, llm_error *err) {
    for (uint32_t s = 0; s < c->kv.sequences.size(); s++)
        if (c->n_appended[s]) LLM_TRY(kv_extend(&c->kv, s, c->n_appended[s], err));
    return LLM_OK;
}

void commit(context *c) {
    for (uint32_t s = 0; s < c->kv.sequences.size(); s++) kv_commit(&c->kv, s, c->n_appended[s]);
}

// However the decode ends, by a status or by bad_alloc of its arrays.
struct transaction {
    context *c;
    bool committed = false;
    ~transaction() {
        if (committed) return;
        roll_back(c);
        c->output_of_token.clear();
    }
};

void plan_outputs(context *c, const llm_batch *b) {
    c->output_of_token.resize(b->n_tokens);
    c->wants.resize(b->n_tokens);
    c->n_outputs = 0;
    c->top_k = b->top_k ? b->top_k : 40;
    bool any_top = false, any_logits = false;
    for (uint32_t i = 0; i < b->n_tokens; i++) {
        c->wants[i] = want_of(b, i);
        any_top = any_top || (c->wants[i] & LLM_WANT_TOP);
        any_logits = any_logits || (c->wants[i] & LLM_WANT_LOGITS);
        c->output_of_token[i] = c->wants[i] ? (int32_t)c->n_outputs++ : -1;
    }
    c->top_k = (uint32_t)std::min<uint64_t>(c->top_k, c->m->h.n_vocab);
    c->top_only = any_top && !any_logits && context_keeps_top(c, c->n_outputs, c->top_k);
    if (!c->top_only) c->logits.resize((size_t)c->n_outputs * c->m->h.n_vocab);
    c->hidden.resize((size_t)c->n_outputs * c->m->h.n_embd);
    if (any_top) c->top.resize((size_t)c->n_outputs * c->top_k);
}

// End of the pass that starts at `first`: at most n_batch tokens, spans whole.
llm_status pass_end(const context *c, const llm_batch *b, uint32_t first, uint32_t *end, llm_error *err) {
    uint32_t i = first, last = std::min(b->n_tokens, first + c->n_batch);
    uint32_t whole = first;
    while (i < last) {
        uint32_t j = i + 1;
        while (j < b->n_tokens && span_of(b, i) > 0 && span_of(b, j) == span_of(b, i) && seq_of(b, j) == seq_of(b, i))
            j++;
        if (j > last) break;
        whole = i = j;
    }
    *end = whole;
    if (whole > first) return LLM_OK;
    return fail(err, LLM_ERR_ARGUMENT, "span %d of token %u is longer than n_batch %u", span_of(b, first), first,
                c->n_batch);
}

void add_token(context *c, const llm_batch *b, uint32_t i, uint32_t first, std::vector<uint32_t> &n_placed) {
    pass_arrays *a = &c->arrays;
    uint32_t seq = (uint32_t)seq_of(b, i);
    uint32_t place = c->kv.sequences[seq].n + n_placed[seq]++;
    bool same_run = i > first && seq_of(b, i - 1) == (llm_seq)seq;
    if (!same_run) a->runs.push_back({i - first, 0, c->kv.sequences[seq].blocks.data()});
    a->runs.back().n++;
    a->run_of_token.push_back((uint32_t)a->runs.size() - 1);
    a->tokens.push_back(b->tokens ? b->tokens[i] : -1);
    a->embd.push_back(b->embd ? b->embd + (size_t)i * c->m->h.n_embd : nullptr);
    a->place.push_back((int32_t)place);
    a->pos.push_back(b->pos ? b->pos[i] : (int32_t)place);
    a->n_visible.push_back((int32_t)place + 1);
    if (c->output_of_token[i] >= 0) a->outputs.push_back(i - first);
}

// Tokens of one span see up to the span's last.
void widen_spans(context *c, const llm_batch *b, uint32_t first, uint32_t end) {
    for (uint32_t i = end - 1; i-- > first;)
        if (span_of(b, i) > 0 && span_of(b, i + 1) == span_of(b, i) && seq_of(b, i + 1) == seq_of(b, i))
            c->arrays.n_visible[i - first] = c->arrays.n_visible[i + 1 - first];
}

void fill_arrays(context *c, const llm_batch *b, uint32_t first, uint32_t end, std::vector<uint32_t> &n_placed) {
    pass_arrays *a = &c->arrays;
    for (auto *v : {&a->tokens, &a->pos, &a->place, &a->n_visible}) v->clear();
    a->embd.clear();
    a->run_of_token.clear();
    a->outputs.clear();
    a->runs.clear();
    for (uint32_t i = first; i < end; i++) add_token(c, b, i, first, n_placed);
    if (b->span) widen_spans(c, b, first, end);
}

llm_status begin_pass(context *c, llm_error *err) {
    for (uint32_t s = 0; s < c->kv.sequences.size(); s++) {
        const uint32_t n = c->kv.sequences[s].n, begin = c->n_placed_before[s], end = c->n_placed[s];
        if (begin < end) LLM_TRY(kv_begin_pass(&c->kv, s, n + begin, n + end, err));
    }
    return LLM_OK;
}

llm_status run_passes(context *c, const llm_batch *b, llm_error *err) {
    std::fill(c->n_placed.begin(), c->n_placed.end(), 0);
    uint32_t n_done = 0;
    for (uint32_t first = 0, end; first < b->n_tokens; first = end) {
        LLM_TRY(pass_end(c, b, first, &end, err));
        c->n_placed_before = c->n_placed;
        fill_arrays(c, b, first, end, c->n_placed);
        LLM_TRY(begin_pass(c, err));
        uint32_t n_outputs = (uint32_t)c->arrays.outputs.size();
        LLM_TRY(execute_pass(c, end - first, n_outputs, n_done, err));
        n_done += n_outputs;
    }
    return LLM_OK;
}

void select_top(context *c, const llm_batch *b) {
    for (uint32_t i = 0; i < b->n_tokens && !c->top_only; i++) {
        if (!(c->wants[i] & LLM_WANT_TOP)) continue;
        size_t row = (size_t)c->output_of_token[i];
        top_list list = {c->top.data() + row * c->top_k, 0, c->top_k};
        top_offer(&list, 0, c->logits.data() + row * c->m->h.n_vocab, c->m->h.n_vocab);
        top_sort(&list);
    }
}

int32_t output_row(const context *c, int32_t index, uint8_t want) {
    int64_t i = index;
    if (index < 0) {
        i = (int64_t)c->output_of_token.size() - 1;
        while (i >= 0 && !(c->wants[(size_t)i] & want)) i--;
    }
    if (i < 0 || i >= (int64_t)c->output_of_token.size() || !(c->wants[(size_t)i] & want)) return -1;
    return c->output_of_token[(size_t)i];
}

} // namespace

llm_status context_decode(context *c, const llm_batch *b, llm_error *err) {
    LLM_TRY(check_fields(c, b, err));
    LLM_TRY(check_room(c, b, err));
    transaction t = {c};
    LLM_TRY(extend(c, err));
    plan_outputs(c, b);
    llm_status status = run_passes(c, b, err);
    if (status == LLM_CANCELLED) c->cancel.store(false);
    LLM_TRY(status);
    select_top(c, b);
    commit(c);
    t.committed = true;
    return LLM_OK;
}

const float *context_logits(const context *c, int32_t index) {
    int32_t row = output_row(c, index, LLM_WANT_LOGITS);
    return row < 0 ? nullptr : c->logits.data() + (size_t)row * c->m->h.n_vocab;
}

const float *context_hidden(const context *c, int32_t index) {
    int32_t row = output_row(c, index, LLM_WANT_HIDDEN);
    return row < 0 ? nullptr : c->hidden.data() + (size_t)row * c->m->h.n_embd;
}

const llm_candidate *context_top(const context *c, int32_t index, size_t *n) {
    int32_t row = output_row(c, index, LLM_WANT_TOP);
    *n = row < 0 ? 0 : c->top_k;
    return row < 0 ? nullptr : c->top.data() + (size_t)row * c->top_k;
}

} // namespace llm
