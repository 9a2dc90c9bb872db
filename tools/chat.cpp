// llm chat: a conversation in a terminal, in a pipe (a message a line), as one shot (-p) or as a demonstration.
#include "chat.h"
#include "history.h"
#include "prompt.h"
#include "terminal.h"
#include "text.h"
#include <iostream>
#include <stdio.h>

static bool is_blank(const std::string &text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

static int exit_status(chat_outcome outcome) {
    if (outcome == chat_outcome::interrupted) return EXIT_INTERRUPTED;
    return outcome == chat_outcome::failed ? EXIT_FAILED : EXIT_OK;
}

// A message or a command, whoever typed it. `said` is what was sent.
static chat_outcome handle(chat_session &session, const std::string &text, bool show_message) {
    command_result command = chat_command(session, text);
    if (command.is_command) return command.outcome;
    if (show_message || command.message != text) fprintf(stderr, "> %s\n", harmless(command.message).c_str());
    return chat_say(session, command.message);
}

static int answer_one(chat_session &session, const chat_cli_options &options) {
    std::string text = options.prompt.value_or("");
    std::string file = !options.file.empty() ? options.file : text == "-" ? "-" : "";
    if (!file.empty()) {
        text.clear();
        if (!read_file(file, text)) return EXIT_FAILED;
    }
    while (!text.empty() && !file.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (is_blank(text)) return report_failure("the message is empty");
    return exit_status(chat_say(session, text));
}

static int answer_demo(chat_session &session) {
    chat_outcome outcome = chat_outcome::ok;
    for (int i = 0; i < 3 && outcome == chat_outcome::ok; i++)
        outcome = handle(session, "/" + std::to_string(i + 1), true);
    return exit_status(outcome);
}

static int answer_lines(chat_session &session) {
    for (std::string line; std::getline(std::cin, line);) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (is_blank(line)) continue;
        chat_outcome outcome = handle(session, line, false);
        if (outcome == chat_outcome::leave) return EXIT_OK;
        if (outcome != chat_outcome::ok) return exit_status(outcome);
    }
    return EXIT_OK;
}

static void welcome(const chat_session &session) {
    if (session.options->common.quiet) return;
    llm_model_info info = {};
    info.size = sizeof info;
    llm_model_get_info(session.loaded.model.get(), &info, nullptr);
    uint32_t n_used = 0, n_ctx = 0;
    llm_chat_usage(session.chat.get(), &n_used, &n_ctx);
    fprintf(stderr, "%s, %u tokens of context\n", harmless(info.name).c_str(), n_ctx);
    fprintf(stderr, "/help lists the commands, Alt-Enter starts a new line, Ctrl-C stops an answer\n");
    if (llm_chat_n_messages(session.chat.get()) > 1) return;
    fprintf(stderr, "Try:\n");
    for (int i = 0; i < 3; i++) fprintf(stderr, "  /%d  %s\n", i + 1, chat_suggestions[i]);
}

// Two Ctrl-C in a row at an empty prompt leave.
static int talk(chat_session &session) {
    line_editor editor;
    editor.history = history_read();
    edit_next(editor, false);
    prompt_look look = {"> ", "  ", session.colour};
    bool interrupted_before = false;
    while (true) {
        prompt_result result = read_message(editor, look);
        if (result == prompt_result::end) return EXIT_OK;
        if (result == prompt_result::interrupt) {
            bool empty = editor.text.empty();
            if (empty && interrupted_before) return EXIT_INTERRUPTED;
            if (empty) chat_notice(session, "Ctrl-C again or Ctrl-D leaves");
            interrupted_before = empty;
            edit_next(editor, false);
            continue;
        }
        interrupted_before = false;
        std::string text = editor.text;
        edit_next(editor, !is_blank(text));
        if (is_blank(text)) continue;
        history_append(text);
        if (handle(session, text, false) == chat_outcome::leave) return EXIT_OK;
    }
}

static int hold(const chat_cli_options &options) {
    bool one_shot = options.prompt || !options.file.empty();
    // The terminal is taken before the model loads, so that what is typed meanwhile waits for the prompt unseen.
    bool interactive = !one_shot && !options.demo && !options.common.json && terminal_begin();
    chat_session session;
    if (int status = chat_open(options, interactive, session)) return status;
    if (one_shot) return answer_one(session, options);
    if (options.demo) return answer_demo(session);
    if (!interactive) return answer_lines(session);
    welcome(session);
    return talk(session);
}

int run_chat(const command &self, int argc, char **argv) {
    chat_cli_options options;
    // clang-format off
    option_table rows = {
        {"-p,--prompt", &options.prompt, "TEXT", "answer this message and end; - takes all of stdin"},
        {"-f,--file", &options.file, "FILE", "answer the message in this file and end"},
        {"--system", &options.system, "TEXT", "system message"},
        {"--session", &options.session, "FILE", "go on with this conversation, if it is there, and save it"},
        {"--template", &options.template_name, "NAME", "chatml, llama3, gemma, llama2, or a file (default: from the model)"},
        {"--tools", &options.tools_file, "FILE", "tools that the model may call, a JSON array"},
        {"--think", &options.think, "on|off", "whether a model that can reason does (default: as its template has it)"},
        {"-n,--predict", &options.n_predict, "N", "most tokens of an answer, 0: as long as there is room (default 1024)"},
        {"--demo", &options.demo, "", "ask three sample questions and end"},
    };
    // clang-format on
    add_sampling_options(rows, options.sampling);
    add_model_options(rows, options.common);
    add_context_options(rows, options.common);
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    int32_t thinking;
    if (!options.think.empty() && !thinking_of(options.think, thinking))
        return usage_error(self, "--think wants on or off");
    int status = hold(options);
    terminal_end();
    return status;
}
