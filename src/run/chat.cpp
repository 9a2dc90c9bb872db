#include "run/chat.h"
#include <algorithm>

namespace llm {

namespace {

std::vector<chat_message> views(const chat *c) {
    std::vector<chat_message> out;
    for (const chat_turn &turn : c->messages) out.push_back({turn.role, turn.content});
    return out;
}

// Ids of messages [from, ...) after what the conversation has.
llm_status encode_from(const chat *c, size_t from, bool generation_prompt, std::vector<llm_token> *ids,
                       llm_error *err) {
    std::vector<chat_message> messages = views(c);
    return chat_encode(c->c->m->vocab, &c->format, messages.data(), messages.size(), from, generation_prompt, ids, err);
}

// What the model reads before its next answer: the rest of the conversation so far, then the new message.
llm_status next_prompt(const chat *c, std::vector<llm_token> *prompt, llm_error *err) {
    uint32_t read = c->c->kv.sequences[0].n;
    prompt->assign(c->ids.begin() + read, c->ids.end());
    if (c->answer_open) LLM_TRY(chat_close_answer(c->c->m->vocab, &c->format, c->ids.back(), prompt, err));
    size_t from = c->ids.empty() ? 0 : c->messages.size() - 1;
    return encode_from(c, from, true, prompt, err);
}

llm_status check_room(const chat *c, size_t n_prompt, llm_error *err) {
    uint64_t used = c->c->kv.sequences[0].n, needed = used + n_prompt + 1, have = c->c->n_ctx;
    if (needed <= have) return LLM_OK;
    return fail(err, LLM_ERR_CONTEXT_FULL, "the message needs %llu places of context; %llu of %llu are left",
                (unsigned long long)n_prompt + 1, (unsigned long long)(have - used), (unsigned long long)have);
}

// Later turns do not see the reasoning of this one: the conversation is written anew without it, and the sequence goes
// back to where the two part.
llm_status forget_reasoning(chat *c, std::vector<llm_token> *ids, llm_error *err) {
    std::vector<llm_token> kept;
    LLM_TRY(encode_from(c, 0, false, &kept, err));
    uint32_t n = std::min<uint32_t>(c->c->kv.sequences[0].n, (uint32_t)kept.size());
    uint32_t same = (uint32_t)(std::mismatch(kept.begin(), kept.begin() + n, ids->begin()).first - kept.begin());
    kv_truncate(&c->c->kv, 0, same);
    ids->swap(kept);
    return LLM_OK;
}

llm_status adopt_answer(chat *c, const std::vector<llm_token> &prompt, const std::vector<llm_token> &made,
                        std::string answer, uint32_t read_before, llm_error *err) {
    std::vector<llm_token> ids(c->ids.begin(), c->ids.begin() + read_before);
    ids.insert(ids.end(), prompt.begin(), prompt.end());
    ids.insert(ids.end(), made.begin(), made.end());
    bool reasoned = chat_kept_answer(&c->format, answer).size() < answer.size();
    c->messages.push_back({"assistant", std::move(answer)});
    if (reasoned) LLM_TRY(forget_reasoning(c, &ids, err));
    c->ids.swap(ids);
    c->answer_open = !reasoned;
    return LLM_OK;
}

// The conversation as it was before a message, unless the sequence is kept: however sending ends, by a status or by
// bad_alloc. The ids change last, so they need no way back.
struct unsent {
    chat *c;
    kv_guard sequence;
    size_t n_messages;
    std::vector<llm_token> recent;
    size_t n_accepted;
    ~unsent() {
        if (sequence.keep) return;
        c->messages.resize(n_messages);
        c->s.recent.swap(recent);
        c->s.n_accepted = n_accepted;
    }
};

llm_status answer(chat *c, llm_event_callback callback, void *user, llm_result *result, llm_error *err) {
    std::vector<llm_token> prompt, made;
    std::string text;
    LLM_TRY(next_prompt(c, &prompt, err));
    LLM_TRY(check_room(c, prompt.size(), err));
    uint32_t read_before = c->c->kv.sequences[0].n;
    generate_options o;
    o.n_predict = c->n_predict;
    o.stops = c->stops.stops.empty() ? nullptr : &c->stops;
    o.callback = callback;
    o.user = user;
    LLM_TRY(generate(c->c, &c->s, &o, prompt.data(), prompt.size(), &made, &text, result, err));
    result->n_cached = read_before;
    result->n_prompt += read_before;
    LLM_TRY(adopt_answer(c, prompt, made, std::move(text), read_before, err));
    result->n_used = c->c->kv.sequences[0].n;
    return LLM_OK;
}

} // namespace

llm_status chat_create(model *m, const chat_options *options, chat **out, llm_error *err) {
    if (!m->vocab && !m->vocab_only) {
        if (err) *err = m->vocab_error;
        return m->vocab_error.code;
    }
    std::unique_ptr<chat, void (*)(chat *)> c(new chat, chat_free);
    const char *stored = m->has_template ? m->chat_template.c_str() : nullptr;
    LLM_TRY(chat_format_find(options->template_name, stored, m->vocab, &c->format, err));
    LLM_TRY(sampler_init(&c->s, &options->sampler, err));
    stop_matcher_init(&c->stops, options->stops.data(), options->stops.size());
    c->n_predict = options->n_predict;
    if (!options->system.empty()) c->messages.push_back({"system", std::string(options->system)});
    context_options context = options->context;
    context.n_seq_max = 1;
    LLM_TRY(context_create(m, &context, &c->c, err));
    *out = c.release();
    return LLM_OK;
}

void chat_free(chat *c) {
    if (!c) return;
    context_free(c->c);
    delete c;
}

llm_status chat_send(chat *c, std::string_view text, llm_event_callback callback, void *user, llm_result *result,
                     llm_error *err) {
    unsent before = {c, {&c->c->kv, 0}, c->messages.size(), c->s.recent, c->s.n_accepted};
    c->messages.push_back({"user", std::string(text)});
    llm_status status = answer(c, callback, user, result, err);
    before.sequence.keep = status == LLM_OK;
    return status;
}

void chat_reset(chat *c) {
    size_t kept = !c->messages.empty() && c->messages[0].role == "system" ? 1 : 0;
    c->messages.resize(kept);
    c->ids.clear();
    c->answer_open = false;
    kv_truncate(&c->c->kv, 0, 0);
    sampler_reset(&c->s);
}

llm_status chat_drop_oldest(chat *c, size_t n_turns, size_t *n_dropped, llm_error *err) {
    std::vector<chat_turn> before = c->messages;
    size_t first = !c->messages.empty() && c->messages[0].role == "system" ? 1 : 0, end = first;
    *n_dropped = 0;
    while (*n_dropped < n_turns && end < c->messages.size()) {
        end++;
        while (end < c->messages.size() && c->messages[end].role != "user") end++;
        ++*n_dropped;
    }
    if (*n_dropped == 0) return LLM_OK;
    c->messages.erase(c->messages.begin() + (ptrdiff_t)first, c->messages.begin() + (ptrdiff_t)end);
    std::vector<llm_token> ids;
    llm_status status = c->messages.size() > first ? encode_from(c, 0, false, &ids, err) : LLM_OK;
    if (status != LLM_OK) {
        c->messages = std::move(before);
        return status;
    }
    c->ids = std::move(ids);
    c->answer_open = false;
    kv_truncate(&c->c->kv, 0, 0);
    return LLM_OK;
}

} // namespace llm
