// How a conversation becomes token ids: a chat template in Jinja, the one that the model's file stores or a built-in
// one, renders the messages; control tokens come from the template's own text only, so that no content makes one.
#pragma once
#include "text/jinja/jinja.h"
#include "text/tokenizer.h"

namespace llm {

struct chat_message {
    std::string_view role, content;
    std::string_view json = {}; // the whole message as a JSON object; empty: role and content are all
};

// The template of one model. Copies share what is compiled.
struct chat_format {
    std::shared_ptr<const jinja_template> compiled;
    std::string source, name; // name: of a built-in one; "" for others
    std::string bos, eos;     // texts of these tokens
    std::string tools;        // a JSON array for the template's `tools`; empty: none
    signed char thinking = 0; // the template's enable_thinking: 1 true, -1 false, 0 not given
};

const char *chat_format_name(size_t i); // "chatml", ...; NULL past the last

struct chat_template_choice {
    const char *name = nullptr;   // one of chat_format_name; NULL: not by name
    std::string_view source = {}; // a template that is given; empty: none
    const char *stored = nullptr; // the template in the model's file; NULL: none
};
// By source, else by name, else what is stored, else a built-in one that the vocabulary's control tokens tell.
// LLM_ERR_TEMPLATE when there is none or it is wrong: nothing is guessed.
llm_status chat_format_find(const chat_template_choice *choice, const tokenizer *t, chat_format *out, llm_error *err);

struct chat_control { // a token that the template wrote as text[at, at + n)
    size_t at, n;
    int32_t id;
};
struct chat_rendering {
    std::string text;
    std::vector<chat_control> controls; // ascending
};
// LLM_ERR_TEMPLATE: the template failed, or refuses this conversation with a sentence of its own. Ill-formed UTF-8 in
// messages becomes U+FFFD.
llm_status chat_render(const chat_format *format, const tokenizer *t, const chat_message *messages, size_t n,
                       bool add_generation_prompt, chat_rendering *out, llm_error *err);

// A place of a text where its ids are cut too. `joined`: text before it and after it belongs together (only what the
// model wrote begins and ends like that).
struct chat_boundary {
    size_t at, n_ids;
    bool joined;
};
// Appends the ids of the text from `from` on and the boundaries among them. Text between two control tokens is
// tokenized as a whole, whichever part it is from, as the original does with the rendered text. BOS is put first where
// the vocabulary wants it and the template has not written it. On failure ids and boundaries are as before.
llm_status chat_encode(const tokenizer *t, const chat_rendering *rendering, const chat_boundary *from,
                       std::vector<int32_t> *ids, std::vector<chat_boundary> *boundaries, llm_error *err);

// What a sequence holds of a conversation.
struct chat_transcript {
    chat_rendering said; // what its ids stand for
    std::vector<int32_t> ids;
    std::vector<chat_boundary> boundaries; // ascending
};
// Adds what the model wrote.
void chat_transcript_add(chat_transcript *transcript, const tokenizer *t, const int32_t *ids, size_t n);
// The transcript of a rendering, with the ids of `before` as far as both say the same, so that what the model wrote
// stays as it was sampled and need not be read again. *n_same: how many ids that are.
llm_status chat_transcript_make(const tokenizer *t, chat_rendering rendering, const chat_transcript *before,
                                chat_transcript *out, size_t *n_same, llm_error *err);

} // namespace llm
