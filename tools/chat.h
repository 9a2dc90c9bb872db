// What the files of `llm chat` share: the conversation as the tool sees it (chat_session.cpp), the slash commands
// (chat_commands.cpp), and the ways to hold it: terminal, pipe, one shot, demo (chat.cpp).
#pragma once
#include "common.h"

struct chat_cli_options {
    common_options common;
    sampling_options sampling;
    std::optional<std::string> prompt;
    std::string file, system, template_name, session, tools_file, think;
    uint32_t n_predict = 1024; // a small model may go round in circles until the context is full
    bool demo = false;
};

struct chat_session {
    const chat_cli_options *options = nullptr;
    loaded_model loaded;
    chat_ptr chat;
    uint64_t seed = 0;
    bool interactive = false, colour = false, hides_reasoning = false;
    llm_result latest = {};
    uint64_t n_generated = 0, n_answers = 0;
    double generate_seconds = 0;
};

enum class chat_outcome { ok, failed, interrupted, leave };

// Loads the model and opens the conversation; an exit status.
int chat_open(const chat_cli_options &options, bool interactive, chat_session &out);
// on or off, as llm_chat_options has it.
bool thinking_of(const std::string &word, int32_t &thinking);
// Sends a message and shows the answer. When the context is full it says so and drops whole oldest turns.
chat_outcome chat_say(chat_session &session, const std::string &text);

// One line for the user, on stderr; nothing with -q.
void chat_notice(const chat_session &session, const std::string &line);

// True when `text` is a command (one line beginning with a slash) and was carried out; `message` is set where the
// command stands for a message (/1), and to `text` without its doubled slash where there was one.
struct command_result {
    bool is_command;
    chat_outcome outcome;
    std::string message;
};
command_result chat_command(chat_session &session, const std::string &text);

// Questions for a first try.
extern const char *const chat_suggestions[3];
