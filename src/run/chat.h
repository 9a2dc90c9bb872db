// A conversation: messages, the template that renders them, their token ids, a context and a sampler.
#pragma once
#include "run/generate.h"
#include "text/chat_template.h"

namespace llm {

struct chat_turn {
    std::string role, content;
    std::string json; // the whole message where it has more than these two; else empty
};

struct chat {
    context *c = nullptr;
    sampler s;
    chat_format format;
    stop_matcher stops;
    uint32_t n_predict = 0;
    std::vector<chat_turn> messages;
    // The conversation so far as the model read and wrote it. Sequence 0 holds the first of its ids; the rest is read
    // with the next message.
    chat_transcript said;
};

struct chat_options {
    context_options context;
    llm_sampler_options sampler = {};
    std::string_view system;
    const char *template_name = nullptr;
    std::string_view template_source, tools;
    int thinking = 0;
    uint32_t n_predict = 0;
    std::vector<std::string_view> stops;
};

llm_status chat_create(model *m, const chat_options *options, chat **out, llm_error *err);
void chat_free(chat *c);
// Adds messages: a JSON object or an array of them.
llm_status chat_add(chat *c, std::string_view json, llm_error *err);
// Lets the model answer the conversation as it stands.
llm_status chat_answer(chat *c, llm_event_callback callback, void *user, llm_result *result, llm_error *err);
llm_status chat_send(chat *c, std::string_view text, llm_event_callback callback, void *user, llm_result *result,
                     llm_error *err);
// The rest of the conversation is rendered by it from now on; what differs is read again with the next message.
llm_status chat_set_template(chat *c, const char *name, std::string_view source, llm_error *err);
void chat_set_system(chat *c, std::string_view text); // empty: none
// Ids of a conversation, without a context.
llm_status chat_tokenize(const model *m, const chat_options *options, std::string_view json, bool add_generation_prompt,
                         std::vector<llm_token> *ids, llm_error *err);
void chat_reset(chat *c);
llm_status chat_drop_oldest(chat *c, size_t n_turns, size_t *n_dropped, llm_error *err);

// messages.cpp: a JSON object or array of objects with a role each, as turns; an array of objects as such.
llm_status chat_read_messages(std::string_view json, std::vector<chat_turn> *out, llm_error *err);
llm_status chat_read_tools(std::string_view json, std::string *out, llm_error *err);
std::vector<chat_message> chat_views(const std::vector<chat_turn> &turns);

// session.cpp: the conversation as a GGUF container without tensors.
llm_status chat_save(const chat *c, const char *path, llm_error *err);
llm_status chat_load(chat *c, const char *path, llm_error *err);

} // namespace llm
