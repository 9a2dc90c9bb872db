#include "run/chat.h"
#include <algorithm>

namespace llm {

namespace {

constexpr uint32_t SEQ = 0;

uint32_t n_read(const chat *c) { return c->c->kv.sequences[SEQ].n; }

// The conversation as its template renders it now, and how much of it the sequence holds already.
llm_status render(const chat *c, bool add_generation_prompt, chat_transcript *out, size_t *n_held, llm_error *err) {
    const std::vector<chat_message> messages = chat_views(c->messages);
    const tokenizer *t = c->c->m->vocab;
    chat_rendering rendering;
    LLM_TRY(chat_render(&c->format, t, messages.data(), messages.size(), add_generation_prompt, &rendering, err));
    LLM_TRY(chat_transcript_make(t, std::move(rendering), &c->said, out, n_held, err));
    *n_held = std::min<size_t>(*n_held, n_read(c));
    return LLM_OK;
}

llm_status check_room(const chat *c, size_t n_ids, size_t n_held, llm_error *err) {
    const uint64_t have = c->c->n_ctx, left = have - std::min<uint64_t>(have, n_held);
    if (n_ids + 1 <= have) return LLM_OK;
    return fail(err, LLM_ERR_CONTEXT_FULL, "the message needs %llu places of context; %llu of %llu are left",
                (unsigned long long)(n_ids - n_held) + 1, (unsigned long long)left, (unsigned long long)have);
}

// The conversation as it was before a message, unless it is kept: however sending ends, by a status or by bad_alloc.
// What is said changes last, so it needs no way back.
struct unsent {
    chat *c;
    size_t n_messages;
    std::vector<llm_token> recent;
    size_t n_accepted;
    bool keep = false;
    ~unsent() {
        if (keep) return;
        c->messages.resize(n_messages);
        c->s.recent.swap(recent);
        c->s.n_accepted = n_accepted;
    }
};

llm_status answer(chat *c, llm_event_callback callback, void *user, llm_result *result, llm_error *err) {
    chat_transcript next;
    size_t n_held = 0;
    LLM_TRY(render(c, true, &next, &n_held, err));
    if (next.ids.empty()) return fail(err, LLM_ERR_TEMPLATE, "the chat template renders nothing of this conversation");
    n_held = std::min(n_held, next.ids.size() - 1);
    LLM_TRY(check_room(c, next.ids.size(), n_held, err));
    kv_truncate(&c->c->kv, SEQ, (uint32_t)n_held);
    n_held = n_read(c); // a cache with windows may have to begin anew
    std::vector<llm_token> made;
    std::string text;
    generate_options o;
    o.n_predict = c->n_predict;
    o.stops = c->stops.stops.empty() ? nullptr : &c->stops;
    answer_splitter parts;
    answer_splitter_init(&parts, c->format.source, next.said.text);
    o.parts = &parts;
    o.callback = callback;
    o.user = user;
    kv_guard sequence(&c->c->kv, SEQ);
    LLM_TRY(generate(c->c, &c->s, &o, next.ids.data() + n_held, next.ids.size() - n_held, &made, &text, result, err));
    result->n_cached = (uint32_t)n_held;
    result->n_prompt += (uint32_t)n_held;
    chat_transcript_add(&next, c->c->m->vocab, made.data(), made.size());
    c->messages.push_back({"assistant", std::move(text), {}});
    std::swap(c->said, next);
    sequence.keep = true;
    return LLM_OK;
}

// Changes the messages where the conversation can be rendered so; what was said is kept as far as it stays the same.
llm_status replace_messages(chat *c, std::vector<chat_turn> messages, llm_error *err) {
    std::swap(c->messages, messages);
    const bool any = !c->messages.empty() && !(c->messages.size() == 1 && c->messages[0].role == "system");
    chat_transcript next;
    size_t n_held = 0;
    const llm_status status = any ? render(c, false, &next, &n_held, err) : LLM_OK;
    if (status != LLM_OK) {
        std::swap(c->messages, messages);
        return status;
    }
    std::swap(c->said, next);
    kv_truncate(&c->c->kv, SEQ, (uint32_t)n_held);
    return LLM_OK;
}

size_t n_system(const chat *c) { return !c->messages.empty() && c->messages[0].role == "system" ? 1 : 0; }

llm_status need_vocabulary(const model *m, llm_error *err) {
    if (m->vocab) return LLM_OK;
    if (err) *err = m->vocab_error;
    return m->vocab_error.code;
}

llm_status find_format(const model *m, const char *name, std::string_view source, chat_format *out, llm_error *err) {
    const chat_template_choice choice = {name, source, m->has_template ? m->chat_template.c_str() : nullptr};
    return chat_format_find(&choice, m->vocab, out, err);
}

llm_status open_format(const model *m, const chat_options *options, chat_format *out, llm_error *err) {
    LLM_TRY(need_vocabulary(m, err));
    LLM_TRY(find_format(m, options->template_name, options->template_source, out, err));
    LLM_TRY(chat_read_tools(options->tools, &out->tools, err));
    out->thinking = (signed char)options->thinking;
    return LLM_OK;
}

} // namespace

llm_status chat_create(model *m, const chat_options *options, chat **out, llm_error *err) {
    std::unique_ptr<chat, void (*)(chat *)> c(new chat, chat_free);
    LLM_TRY(open_format(m, options, &c->format, err));
    LLM_TRY(sampler_init(&c->s, &options->sampler, err));
    stop_matcher_init(&c->stops, options->stops.data(), options->stops.size());
    c->n_predict = options->n_predict;
    if (!options->system.empty()) c->messages.push_back({"system", std::string(options->system), {}});
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

llm_status chat_add(chat *c, std::string_view json, llm_error *err) {
    return chat_read_messages(json, &c->messages, err);
}

llm_status chat_answer(chat *c, llm_event_callback callback, void *user, llm_result *result, llm_error *err) {
    unsent before = {c, c->messages.size(), c->s.recent, c->s.n_accepted};
    LLM_TRY(answer(c, callback, user, result, err));
    before.keep = true;
    return LLM_OK;
}

llm_status chat_send(chat *c, std::string_view text, llm_event_callback callback, void *user, llm_result *result,
                     llm_error *err) {
    unsent before = {c, c->messages.size(), c->s.recent, c->s.n_accepted};
    c->messages.push_back({"user", std::string(text), {}});
    LLM_TRY(answer(c, callback, user, result, err));
    before.keep = true;
    return LLM_OK;
}

llm_status chat_tokenize(const model *m, const chat_options *options, std::string_view json, bool add_generation_prompt,
                         std::vector<llm_token> *ids, llm_error *err) {
    chat_format format;
    std::vector<chat_turn> turns;
    LLM_TRY(open_format(m, options, &format, err));
    if (!options->system.empty()) turns.push_back({"system", std::string(options->system), {}});
    LLM_TRY(chat_read_messages(json, &turns, err));
    const std::vector<chat_message> messages = chat_views(turns);
    chat_rendering rendering;
    LLM_TRY(chat_render(&format, m->vocab, messages.data(), messages.size(), add_generation_prompt, &rendering, err));
    const chat_boundary start = {0, 0, false};
    std::vector<chat_boundary> ignored;
    return chat_encode(m->vocab, &rendering, &start, ids, &ignored, err);
}

llm_status chat_set_template(chat *c, const char *name, std::string_view source, llm_error *err) {
    chat_format format;
    LLM_TRY(find_format(c->c->m, name, source, &format, err));
    format.tools = c->format.tools;
    format.thinking = c->format.thinking;
    std::swap(c->format, format);
    return LLM_OK;
}

void chat_set_system(chat *c, std::string_view text) {
    std::vector<chat_turn> messages;
    if (!text.empty()) messages.push_back({"system", std::string(text), {}});
    messages.insert(messages.end(), c->messages.begin() + (ptrdiff_t)n_system(c), c->messages.end());
    std::swap(c->messages, messages);
}

void chat_reset(chat *c) {
    c->messages.resize(n_system(c));
    c->said = chat_transcript();
    kv_truncate(&c->c->kv, SEQ, 0);
    sampler_reset(&c->s);
}

llm_status chat_drop_oldest(chat *c, size_t n_turns, size_t *n_dropped, llm_error *err) {
    const size_t first = n_system(c);
    size_t end = first, n = 0;
    while (n < n_turns && end < c->messages.size()) {
        end++;
        while (end < c->messages.size() && c->messages[end].role != "user") end++;
        n++;
    }
    *n_dropped = 0;
    if (n == 0) return LLM_OK;
    std::vector<chat_turn> left(c->messages.begin(), c->messages.begin() + (ptrdiff_t)first);
    left.insert(left.end(), c->messages.begin() + (ptrdiff_t)end, c->messages.end());
    LLM_TRY(replace_messages(c, std::move(left), err));
    *n_dropped = n;
    return LLM_OK;
}

} // namespace llm
