// A conversation: messages, their token ids, a context and a sampler.
#pragma once
#include "run/generate.h"
#include "text/chat_template.h"

namespace llm {

struct chat_turn {
    std::string role, content;
};

struct chat {
    context *c = nullptr;
    sampler s;
    chat_format format;
    stop_matcher stops;
    uint32_t n_predict = 0;
    std::vector<chat_turn> messages;
    // All ids of the conversation so far. Sequence 0 holds the first of them; the rest is read with the next message.
    std::vector<llm_token> ids;
    bool answer_open = false; // the last answer ends as the model left it: its end mark is still to come
};

struct chat_options {
    context_options context;
    llm_sampler_options sampler = {};
    std::string_view system;
    const char *template_name = nullptr;
    uint32_t n_predict = 0;
    std::vector<std::string_view> stops;
};

llm_status chat_create(model *m, const chat_options *options, chat **out, llm_error *err);
void chat_free(chat *c);
llm_status chat_send(chat *c, std::string_view text, llm_event_callback callback, void *user, llm_result *result,
                     llm_error *err);
void chat_reset(chat *c);
llm_status chat_drop_oldest(chat *c, size_t n_turns, size_t *n_dropped, llm_error *err);

// session.cpp: the conversation as a GGUF container without tensors.
llm_status chat_save(const chat *c, const char *path, llm_error *err);
llm_status chat_load(chat *c, const char *path, llm_error *err);

} // namespace llm
