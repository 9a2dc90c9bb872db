// Built-in chat formats: how a list of messages becomes the token ids that a chat model was trained on.
//
// A format is a row of data (chat_template.cpp) plus what is read off the template stored in the file: default system
// message, trimming, BOS. Rendering keeps scaffolding and content apart, so that content never makes control tokens.
#pragma once
#include "text/tokenizer.h"

namespace llm {

struct chat_message {
    std::string_view role, content;
};

struct chat_row; // one row of the table

// Chosen and adapted to one model. Plain values; copy it freely.
struct chat_format {
    const chat_row *row = nullptr;
    bool bos = false;             // BOS before the first message
    bool bos_each_turn = false;   // and before each later user message
    bool trim = false;            // content without white space around it
    bool drops_reasoning = false; // of assistant messages all up to the last "</think>" is left out
    bool refuses_system = false;
    std::string system_intro;   // begins the first system message, and makes one where there is none
    std::string default_system; // where the first message is no system message; empty: none
};

const char *chat_format_name(size_t i); // "chatml", ...; NULL past the last
// What the model sees of an answer in later turns.
std::string_view chat_kept_answer(const chat_format *format, std::string_view answer);
// name: one of chat_format_name, or NULL: told from `stored_template` (may be NULL), without one from the vocabulary.
// LLM_ERR_TEMPLATE when it is none of ours: nothing is guessed.
llm_status chat_format_find(const char *name, const char *stored_template, const tokenizer *t, chat_format *out,
                            llm_error *err);

struct chat_segment {
    enum kind_t : uint8_t { scaffolding, content, bos, eos } kind;
    std::string text; // empty for bos and eos
};

// Messages [from, n) of a conversation, appended. What message k gives depends on itself, the role of the message
// before and whether it is the first, so a conversation can be rendered in parts. LLM_ERR_TEMPLATE: a role or an order
// that the format does not have.
llm_status chat_render(const chat_format *format, const chat_message *messages, size_t n, size_t from,
                       bool add_generation_prompt, std::vector<chat_segment> *out, llm_error *err);

// The same as ids. Control tokens come from the scaffolding only; text between two of them is tokenized as a whole,
// whichever part it is from, as the original does with the rendered text.
llm_status chat_encode(const tokenizer *t, const chat_format *format, const chat_message *messages, size_t n,
                       size_t from, bool add_generation_prompt, std::vector<int32_t> *ids, llm_error *err);

// Appends the ids that must follow an answer that the model made, before the next message: what is left of the end of
// an assistant message. last_id: the last generated token. If it ended the generation it counts as the end mark itself.
llm_status chat_close_answer(const tokenizer *t, const chat_format *format, int32_t last_id, std::vector<int32_t> *ids,
                             llm_error *err);

} // namespace llm
