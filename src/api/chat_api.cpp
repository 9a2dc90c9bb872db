#include "api/context_api.h"
#include "api/objects.h"
#include "api/pool_api.h"

namespace llm {

namespace {

void destroy(llm_chat *chat) {
    chat_free(chat->c);
    shared_pool_release(chat->pool);
    delete chat;
}

std::string_view view(llm_string s) { return {s.text ? s.text : "", s.text ? s.length : 0}; }

llm_status check_thinking(int32_t thinking, llm_error *err) {
    if (thinking >= -1 && thinking <= 1) return LLM_OK;
    return fail(err, LLM_ERR_ARGUMENT, "thinking is %d; expected -1, 0 or 1", thinking);
}

llm_status read_chat_options(const llm_chat_options *o, chat_options *out, llm_error *err) {
    LLM_TRY(context_options_read(&o->context, &out->context, err));
    LLM_TRY(read_options(&o->sampler, "llm_sampler_options", &out->sampler, err));
    out->system = view(o->system);
    out->template_name = o->template_name;
    out->template_source = view(o->template_source);
    out->tools = view(o->tools);
    out->n_predict = o->n_predict;
    LLM_TRY(check_thinking(o->thinking, err));
    out->thinking = o->thinking;
    if (o->n_stops && !o->stops) return fail(err, LLM_ERR_ARGUMENT, "stops is NULL, n_stops is %zu", o->n_stops);
    for (size_t i = 0; i < o->n_stops; i++) out->stops.push_back(view(o->stops[i]));
    return LLM_OK;
}

} // namespace

} // namespace llm

using namespace llm;

llm_status llm_chat_create(llm_model *model, const llm_chat_options *options, llm_chat **out, llm_error *err) {
    return api_run(err, [&] {
        if (!model || !out) return fail(err, LLM_ERR_ARGUMENT, "model or out is NULL");
        llm_chat_options o;
        chat_options inner;
        LLM_TRY(read_options(options, "llm_chat_options", &o, err));
        LLM_TRY(read_chat_options(&o, &inner, err));
        std::unique_ptr<llm_chat> made(new llm_chat);
        LLM_TRY(chat_create(model->m, &inner, &made->c, err));
        shared_pool_retain(o.context.pool);
        made->pool = o.context.pool;
        *out = made.release();
        return LLM_OK;
    });
}

void llm_chat_free(llm_chat *chat) {
    if (chat && call_may_destroy(&chat->call, [&] { llm_chat_cancel(chat); })) destroy(chat);
}

llm_status llm_chat_send(llm_chat *chat, const char *text, size_t length, llm_event_callback callback, void *user,
                         llm_result *result, llm_error *err) {
    return api_call(chat, destroy, err, [&] {
        if (!text && length) return fail(err, LLM_ERR_ARGUMENT, "text is NULL");
        llm_result ignored;
        return chat_send(chat->c, std::string_view(text ? text : "", length), callback, user,
                         result ? result : &ignored, err);
    });
}

llm_status llm_chat_add(llm_chat *chat, const char *json, size_t length, llm_error *err) {
    return api_call(chat, destroy, err, [&] {
        if (!json) return fail(err, LLM_ERR_ARGUMENT, "json is NULL");
        return chat_add(chat->c, {json, length}, err);
    });
}

llm_status llm_chat_answer(llm_chat *chat, llm_event_callback callback, void *user, llm_result *result,
                           llm_error *err) {
    return api_call(chat, destroy, err, [&] {
        llm_result ignored;
        return chat_answer(chat->c, callback, user, result ? result : &ignored, err);
    });
}

void llm_chat_cancel(llm_chat *chat) {
    if (chat) chat->c->c->cancel.store(true, std::memory_order_relaxed);
}

llm_status llm_chat_reset(llm_chat *chat, llm_error *err) {
    return api_call(chat, destroy, err, [&] {
        chat_reset(chat->c);
        return LLM_OK;
    });
}

llm_status llm_chat_drop_oldest(llm_chat *chat, size_t n_turns, size_t *n_dropped, llm_error *err) {
    return api_call(chat, destroy, err, [&] {
        size_t ignored;
        return chat_drop_oldest(chat->c, n_turns, n_dropped ? n_dropped : &ignored, err);
    });
}

size_t llm_chat_n_messages(const llm_chat *chat) { return chat ? chat->c->messages.size() : 0; }

llm_status llm_chat_message(const llm_chat *chat, size_t i, const char **role, llm_string *content, llm_error *err) {
    return api_run(err, [&] {
        size_t n = llm_chat_n_messages(chat);
        if (i >= n) return fail(err, LLM_ERR_ARGUMENT, "message %zu does not exist; there are %zu", i, n);
        const chat_turn &turn = chat->c->messages[i];
        if (role) *role = turn.role.c_str();
        if (content) *content = {turn.content.data(), turn.content.size()};
        return LLM_OK;
    });
}

void llm_chat_usage(const llm_chat *chat, uint32_t *n_used, uint32_t *n_ctx) {
    if (n_used) *n_used = chat ? (uint32_t)chat->c->said.ids.size() : 0;
    if (n_ctx) *n_ctx = chat ? chat->c->c->n_ctx : 0;
}

llm_status llm_chat_set_sampler(llm_chat *chat, const llm_sampler_options *options, llm_error *err) {
    return api_call(chat, destroy, err, [&] {
        llm_sampler_options o;
        LLM_TRY(read_options(options, "llm_sampler_options", &o, err));
        sampler changed;
        LLM_TRY(sampler_init(&changed, &o, err));
        std::swap(chat->c->s, changed);
        return LLM_OK;
    });
}

const char *llm_chat_template_name(size_t index) { return chat_format_name(index); }

llm_status llm_chat_set_template(llm_chat *chat, const char *name, llm_string source, llm_error *err) {
    return api_call(chat, destroy, err, [&] { return chat_set_template(chat->c, name, view(source), err); });
}

llm_status llm_chat_set_system(llm_chat *chat, llm_string text, llm_error *err) {
    return api_call(chat, destroy, err, [&] {
        chat_set_system(chat->c, view(text));
        return LLM_OK;
    });
}

llm_status llm_chat_set_thinking(llm_chat *chat, int32_t thinking, llm_error *err) {
    return api_call(chat, destroy, err, [&] {
        LLM_TRY(check_thinking(thinking, err));
        chat->c->format.thinking = (signed char)thinking;
        return LLM_OK;
    });
}

llm_string llm_chat_template(const llm_chat *chat, const char **name) {
    if (name) *name = chat ? chat->c->format.name.c_str() : "";
    if (!chat) return {"", 0};
    return {chat->c->format.source.data(), chat->c->format.source.size()};
}

llm_status llm_chat_tokenize(const llm_model *model, const llm_chat_options *options, const char *json, size_t length,
                             bool add_generation_prompt, llm_token *ids, size_t capacity, size_t *n_ids,
                             llm_error *err) {
    return api_run(err, [&] {
        if (!model || !json || (!ids && capacity)) return fail(err, LLM_ERR_ARGUMENT, "model, json or ids is NULL");
        llm_chat_options o;
        chat_options inner;
        LLM_TRY(read_options(options, "llm_chat_options", &o, err));
        LLM_TRY(read_chat_options(&o, &inner, err));
        std::vector<llm_token> made;
        LLM_TRY(chat_tokenize(model->m, &inner, {json, length}, add_generation_prompt, &made, err));
        return api_give(made.data(), made.size(), ids, capacity, n_ids, err);
    });
}

llm_status llm_chat_save(const llm_chat *chat, const char *path, llm_error *err) {
    return api_call((llm_chat *)chat, destroy, err, [&] {
        if (!path) return fail(err, LLM_ERR_ARGUMENT, "path is NULL");
        return chat_save(chat->c, path, err);
    });
}

llm_status llm_chat_load(llm_chat *chat, const char *path, llm_error *err) {
    return api_call(chat, destroy, err, [&] {
        if (!path) return fail(err, LLM_ERR_ARGUMENT, "path is NULL");
        return chat_load(chat->c, path, err);
    });
}
