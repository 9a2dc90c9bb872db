#include "run/generate.h"
#include <algorithm>
#include <chrono>

namespace llm {

namespace {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct generation {
    context *c;
    sampler *s;
    const generate_options *options;
    std::vector<llm_token> *made;
    std::string *text;
    llm_result *result;
    detok_stream stream;
    std::string decoded, given;     // scratch of one token
    std::vector<answer_part> split; // likewise
};

kv_sequence *sequence(generation *g) { return &g->c->kv.sequences[g->options->seq]; }

// False when the callback wants to stop.
bool send(generation *g, llm_event_type type, std::string_view text, llm_token token, uint32_t done, uint32_t total) {
    if (!g->options->callback) return true;
    llm_event event = {type, text.data(), text.size(), token, done, total};
    return g->options->callback(g->options->user, &event);
}

llm_status decode(generation *g, const llm_token *ids, uint32_t n, bool want, llm_error *err) {
    std::vector<uint8_t> &wants = g->c->prompt_wants;
    std::vector<llm_seq> &seq = g->c->prompt_seq;
    wants.assign(n, LLM_WANT_NOTHING);
    const uint32_t needed = sampler_needs(g->s);
    if (want) wants[n - 1] = needed ? LLM_WANT_TOP : LLM_WANT_LOGITS;
    seq.assign(n, (llm_seq)g->options->seq);
    llm_batch b = {};
    b.n_tokens = n;
    b.tokens = ids;
    b.seq = seq.data();
    b.want = wants.data();
    b.top_k = needed;
    return context_decode(g->c, &b, err);
}

llm_status read_prompt(generation *g, const llm_token *ids, size_t n, llm_error *err) {
    for (size_t done = 0; done < n;) {
        uint32_t step = (uint32_t)std::min<size_t>(g->c->n_batch, n - done);
        llm_status status = decode(g, ids + done, step, done + step == n, err);
        done += step;
        if (status == LLM_OK && !send(g, LLM_EVENT_PROMPT, "", -1, (uint32_t)done, (uint32_t)n))
            status = fail(err, LLM_CANCELLED, "the call was cancelled");
        if (status != LLM_OK) return status;
    }
    return LLM_OK;
}

bool send_parts(generation *g, llm_token token) {
    for (const answer_part &part : g->split)
        if (!send(g, part.kind, part.text, token, 0, 0)) return false;
    return true;
}

bool give(generation *g, llm_token token) {
    if (g->given.empty() && g->c->m->vocab) return true;
    if (g->text) g->text->append(g->given);
    if (!g->options->parts) return send(g, LLM_EVENT_ANSWER, g->given, token, 0, 0);
    g->split.clear();
    answer_splitter_add(g->options->parts, g->given, &g->split);
    return send_parts(g, token);
}

// The bytes of a token. Marks of parts that are control tokens belong to the text.
void decode_token(generation *g, llm_token token) {
    const tokenizer *t = g->c->m->vocab;
    g->decoded.clear();
    if (!t) return;
    detok_stream_add(&g->stream, token, &g->decoded);
    if (!g->options->parts || !tokenizer_is_control(t, token)) return;
    const std::string_view piece = tokenizer_piece(t, token, true);
    if (answer_splitter_knows(g->options->parts, piece)) g->decoded.append(piece);
}

// Text of one more token, past the stops. Sets result->finish and returns false at an end.
bool emit(generation *g, llm_token token) {
    g->given.clear();
    decode_token(g, token);
    int32_t fired = -1;
    if (g->options->stops)
        fired = stop_matcher_add(g->options->stops, g->decoded, &g->given);
    else
        g->given.swap(g->decoded);
    bool go = give(g, token);
    if (fired >= 0) {
        g->result->finish = LLM_FINISH_STOP;
        g->result->stop_index = fired;
    } else if (!go) {
        g->result->finish = LLM_FINISH_CANCELLED;
    }
    return fired < 0 && go;
}

// What was held back for a stop or an unfinished character is text after all.
void flush_text(generation *g) {
    g->decoded.clear();
    g->given.clear();
    detok_stream_finish(&g->stream, &g->decoded);
    if (g->options->stops) {
        if (stop_matcher_add(g->options->stops, g->decoded, &g->given) < 0)
            stop_matcher_finish(g->options->stops, &g->given);
    } else {
        g->given.swap(g->decoded);
    }
    if (!g->given.empty()) give(g, -1);
}

void flush(generation *g) {
    if (g->c->m->vocab && g->result->finish != LLM_FINISH_STOP) flush_text(g);
    if (!g->options->parts) return;
    g->split.clear();
    answer_splitter_finish(g->options->parts, &g->split);
    send_parts(g, -1);
}

llm_status sample(const generation *g, uint32_t place, llm_token *token, llm_error *err) {
    size_t n;
    if (const llm_candidate *best = context_top(g->c, -1, &n))
        return sampler_sample_candidates(g->s, best, n, place, token, err);
    return sampler_sample(g->s, context_logits(g->c, -1), g->c->m->h.n_vocab, place, token, err);
}

// One token: false at an end, which is in result->finish.
llm_status next_token(generation *g, bool *more, llm_error *err) {
    *more = false;
    llm_token token;
    uint32_t place = sequence(g)->n;
    LLM_TRY(sample(g, place, &token, err));
    sampler_accept(g->s, token);
    if (g->made) g->made->push_back(token);
    g->result->n_generated++;
    if (!g->options->ignore_eog && g->c->m->vocab && tokenizer_is_eog(g->c->m->vocab, token)) {
        g->result->finish = LLM_FINISH_EOG;
        return LLM_OK;
    }
    if (!emit(g, token)) return LLM_OK;
    if (g->options->n_predict && g->result->n_generated >= g->options->n_predict) {
        g->result->finish = LLM_FINISH_LIMIT;
        return LLM_OK;
    }
    if (place >= g->c->n_ctx) {
        g->result->finish = LLM_FINISH_CONTEXT;
        return LLM_OK;
    }
    llm_status status = decode(g, &token, 1, true, err);
    if (status == LLM_CANCELLED) {
        g->result->finish = LLM_FINISH_CANCELLED;
        clear(err);
        return LLM_OK;
    }
    *more = status == LLM_OK;
    return status;
}

llm_status check(generation *g, const llm_token *ids, size_t n, llm_error *err) {
    if (!ids || n == 0) return fail(err, LLM_ERR_ARGUMENT, "the prompt has no tokens");
    if (g->options->seq >= g->c->kv.sequences.size())
        return fail(err, LLM_ERR_ARGUMENT, "sequence %u does not exist; the context has %zu", g->options->seq,
                    g->c->kv.sequences.size());
    uint32_t used = sequence(g)->n;
    if (used + (uint64_t)n > g->c->n_ctx)
        return fail(err, LLM_ERR_CONTEXT_FULL, "the prompt needs %zu places; %u are left of %u", n, g->c->n_ctx - used,
                    g->c->n_ctx);
    return LLM_OK;
}

} // namespace

llm_status generate(context *c, sampler *s, const generate_options *options, const llm_token *ids, size_t n_ids,
                    std::vector<llm_token> *made, std::string *text, llm_result *result, llm_error *err) {
    *result = llm_result();
    result->stop_index = -1;
    generation g = {c, s, options, made, text, result, {}, {}, {}, {}};
    LLM_TRY(check(&g, ids, n_ids, err));
    g.stream.vocab = c->m->vocab;
    g.stream.at_start = false;
    if (options->stops) stop_matcher_reset(options->stops);
    result->n_ctx = c->n_ctx;
    result->n_prompt = (uint32_t)n_ids;
    uint32_t before = sequence(&g)->n;
    kv_guard guard(&c->kv, options->seq);
    double start = seconds_now();
    LLM_TRY(read_prompt(&g, ids, n_ids, err));
    double read = seconds_now();
    result->prompt_seconds = read - start;
    for (size_t i = 0; i < n_ids; i++) sampler_accept(s, ids[i]);
    bool more = true;
    llm_status status = LLM_OK;
    while (more && status == LLM_OK) status = next_token(&g, &more, err);
    if (status != LLM_OK) {
        kv_truncate(&c->kv, options->seq, before);
        return status;
    }
    flush(&g);
    result->generate_seconds = seconds_now() - read;
    result->n_used = sequence(&g)->n;
    guard.keep = status == LLM_OK;
    return status;
}

} // namespace llm
