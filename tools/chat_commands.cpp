#include "chat.h"
#include "text.h"
#include <algorithm>
#include <stdio.h>

const char *const chat_suggestions[3] = {
    "Why do we need sleep?",
    "Tell me a short story about a fox.",
    "Give me three tips for learning a language.",
};

static chat_outcome library_result(llm_status status, const llm_error &err) {
    if (status == LLM_OK) return chat_outcome::ok;
    report(err);
    return chat_outcome::failed;
}

static std::string left_of_context(const chat_session &session) {
    uint32_t n_used = 0, n_ctx = 0;
    llm_chat_usage(session.chat.get(), &n_used, &n_ctx);
    return std::to_string(n_ctx - std::min(n_used, n_ctx)) + " of " + std::to_string(n_ctx) + " tokens left";
}

static chat_outcome help(chat_session &session, const std::string &);

static chat_outcome reset(chat_session &session, const std::string &) {
    llm_error err = {};
    chat_outcome outcome = library_result(llm_chat_reset(session.chat.get(), &err), err);
    if (outcome == chat_outcome::ok) chat_notice(session, "the conversation starts anew");
    return outcome;
}

static chat_outcome save(chat_session &session, const std::string &path) {
    if (path.empty()) return report_failure("/save wants a file name"), chat_outcome::failed;
    llm_error err = {};
    chat_outcome outcome = library_result(llm_chat_save(session.chat.get(), path.c_str(), &err), err);
    if (outcome == chat_outcome::ok) chat_notice(session, "saved to " + path);
    return outcome;
}

static chat_outcome load(chat_session &session, const std::string &path) {
    if (path.empty()) return report_failure("/load wants a file name"), chat_outcome::failed;
    llm_error err = {};
    chat_outcome outcome = library_result(llm_chat_load(session.chat.get(), path.c_str(), &err), err);
    size_t n = llm_chat_n_messages(session.chat.get());
    if (outcome == chat_outcome::ok) chat_notice(session, "loaded " + path + ": " + std::to_string(n) + " messages");
    return outcome;
}

static chat_outcome set_system(chat_session &session, const std::string &text) {
    llm_error err = {};
    const llm_status status = llm_chat_set_system(session.chat.get(), {text.data(), text.size()}, &err);
    const chat_outcome outcome = library_result(status, err);
    if (outcome == chat_outcome::ok) chat_notice(session, text.empty() ? "no system message" : "system message changed");
    return outcome;
}

static chat_outcome set_template(chat_session &session, const std::string &given) {
    if (given.empty()) {
        const char *name = nullptr;
        const llm_string source = llm_chat_template(session.chat.get(), &name);
        if (*name) fprintf(stderr, "%s, built in:\n", name);
        fprintf(stderr, "%s\n", harmless({source.text, source.length}).c_str());
        return chat_outcome::ok;
    }
    template_choice choice;
    if (choose_template(given, choice)) return chat_outcome::failed;
    llm_error err = {};
    const llm_string source = {choice.source.data(), choice.source.size()};
    const llm_status status = llm_chat_set_template(session.chat.get(), choice.name.c_str(), source, &err);
    const chat_outcome outcome = library_result(status, err);
    if (outcome == chat_outcome::ok) chat_notice(session, "the conversation is written as " + given + " has it");
    return outcome;
}

static chat_outcome think(chat_session &session, const std::string &word) {
    int32_t thinking;
    if (word == "hide" || word == "show") {
        session.hides_reasoning = word == "hide";
        chat_notice(session, word == "hide" ? "reasoning is not shown" : "reasoning is shown");
        return chat_outcome::ok;
    }
    if (!thinking_of(word, thinking))
        return report_failure("/think wants on, off, hide or show"), chat_outcome::failed;
    llm_error err = {};
    const chat_outcome outcome = library_result(llm_chat_set_thinking(session.chat.get(), thinking, &err), err);
    if (outcome == chat_outcome::ok) chat_notice(session, "reasoning is " + word + ", where the template knows it");
    return outcome;
}

static chat_outcome stats(chat_session &session, const std::string &) {
    double rate = session.generate_seconds > 0 ? double(session.n_generated) / session.generate_seconds : 0;
    fprintf(stderr, "model    %s, loaded in %.2f s\n", session.loaded.path.c_str(), session.loaded.load_seconds);
    fprintf(stderr, "messages %zu, %s\n", llm_chat_n_messages(session.chat.get()), left_of_context(session).c_str());
    fprintf(stderr, "answers  %llu, %llu tokens, %.1f tokens/s, seed %llu\n", (unsigned long long)session.n_answers,
            (unsigned long long)session.n_generated, rate, (unsigned long long)session.seed);
    fprintf(stderr, "memory   %.1f MiB at most\n", double(peak_resident_bytes()) / (1 << 20));
    return chat_outcome::ok;
}

static chat_outcome leave(chat_session &, const std::string &) { return chat_outcome::leave; }

struct slash_command {
    const char *name, *argument, *help;
    chat_outcome (*run)(chat_session &session, const std::string &argument);
};
static const slash_command slash_commands[] = {
    {"/help", "", "this list", help},
    {"/reset", "", "forget the conversation", reset},
    {"/save", "FILE", "save the conversation", save},
    {"/load", "FILE", "go on with a saved one", load},
    {"/system", "TEXT", "change the system message; without TEXT: none", set_system},
    {"/template", "NAME", "change the chat template, also a file; without NAME: show it", set_template},
    {"/think", "WORD", "on, off: let the model reason or not; hide, show: its reasoning", think},
    {"/stats", "", "tokens, speed, memory", stats},
    {"/exit", "", "leave (also Ctrl-D)", leave},
};

static chat_outcome help(chat_session &, const std::string &) {
    for (const slash_command &row : slash_commands)
        fprintf(stderr, "%-9s %-6s  %s\n", row.name, row.argument, row.help);
    fprintf(stderr, "/1 /2 /3          ask one of three sample questions\n"
                    "//...             send a message that begins with a slash\n"
                    "Alt-Enter         new line (also a backslash at the end)\n"
                    "Up, Down          earlier messages\n"
                    "Ctrl-C            stop the answer, clear the message\n");
    return chat_outcome::ok;
}

static bool is_suggestion(const std::string &name) { return name.size() == 2 && name[1] >= '1' && name[1] <= '3'; }

command_result chat_command(chat_session &session, const std::string &text) {
    if (text[0] != '/' || text.find('\n') != std::string::npos) return {false, chat_outcome::ok, text};
    if (text.compare(0, 2, "//") == 0) return {false, chat_outcome::ok, text.substr(1)};
    size_t space = std::min(text.find(' '), text.size());
    std::string name = text.substr(0, space), argument = text.substr(space);
    argument.erase(0, std::min(argument.find_first_not_of(' '), argument.size()));
    argument.erase(argument.find_last_not_of(' ') + 1);
    if (is_suggestion(name)) return {false, chat_outcome::ok, chat_suggestions[name[1] - '1']};
    for (const slash_command &row : slash_commands)
        if (name == row.name) return {true, row.run(session, argument), ""};
    report_failure("unknown command " + name + "; /help lists them, // begins a message with a slash");
    return {true, chat_outcome::failed, ""};
}
