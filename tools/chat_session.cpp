#include "chat.h"
#include "interrupt.h"
#include "json.h"
#include "text.h"
#include <algorithm>
#include <stdio.h>
#include <unistd.h>

void chat_notice(const chat_session &session, const std::string &line) {
    if (session.options->common.quiet) return;
    const char *before = session.colour ? "\x1b[2m" : "", *after = session.colour ? "\x1b[0m" : "";
    fflush(stdout);
    fprintf(stderr, "%s[%s]%s\n", before, harmless(line).c_str(), after);
}

static chat_outcome fail(const chat_session &session, const llm_error &err) {
    if (session.options->common.json)
        print_json([&](json_writer &json) {
            json_field(json, "event", "error");
            json_field(json, "status", llm_status_text(err.code));
            json_field(json, "message", err.message);
        });
    report(err);
    return chat_outcome::failed;
}

bool thinking_of(const std::string &word, int32_t &thinking) {
    thinking = word == "on" ? 1 : -1;
    return word == "on" || word == "off";
}

int chat_open(const chat_cli_options &options, bool interactive, chat_session &out) {
    out.options = &options;
    out.interactive = interactive;
    out.colour = interactive && stderr_is_terminal() && !getenv("NO_COLOR");
    if (int status = load_model(options.common, false, out.loaded)) return status;
    out.seed = choose_seed(options.sampling);
    if (options.common.verbose) fprintf(stderr, "llm: seed %llu\n", static_cast<unsigned long long>(out.seed));

    llm_chat_options chat_options = {};
    chat_options.size = sizeof chat_options;
    if (int status = context_options_from(options.common, out.loaded.model.get(), chat_options.context)) return status;
    chat_options.sampler = sampler_options_from(options.sampling, out.loaded.model.get(), out.seed);
    chat_options.system = {options.system.data(), options.system.size()};
    template_choice choice;
    std::string tools;
    if (int status = choose_template(options.template_name, choice)) return status;
    if (!options.tools_file.empty() && !read_file(options.tools_file, tools)) return EXIT_FAILED;
    chat_options.template_name = choice.name.empty() ? nullptr : choice.name.c_str();
    chat_options.template_source = {choice.source.data(), choice.source.size()};
    chat_options.tools = {tools.data(), tools.size()};
    if (!options.think.empty()) thinking_of(options.think, chat_options.thinking);
    chat_options.n_predict = options.n_predict;
    std::vector<llm_string> stops = strings_from(options.sampling.stops);
    chat_options.stops = stops.data();
    chat_options.n_stops = stops.size();
    llm_chat *chat = nullptr;
    llm_error err = {};
    if (llm_chat_create(out.loaded.model.get(), &chat_options, &chat, &err) != LLM_OK) return report(err);
    out.chat.reset(chat);
    if (options.session.empty() || access(options.session.c_str(), F_OK) != 0) return EXIT_OK;
    return llm_chat_load(chat, options.session.c_str(), &err) == LLM_OK ? EXIT_OK : report(err);
}

// ---- showing an answer

struct answer_view {
    const chat_session *session;
    bool json, to_terminal, reasoning = false;
    char last = '\n';
    progress_bar bar;
};

static const char *event_name(llm_event_type type) {
    switch (type) {
    case LLM_EVENT_REASONING: return "reasoning";
    case LLM_EVENT_TOOL_CALL: return "tool_call";
    default: return "answer";
    }
}

// Reasoning is no part of the answer: dim on a terminal, on stderr with -v, else not shown.
static void show_reasoning(answer_view &view, std::string_view text) {
    const chat_session &session = *view.session;
    if (session.hides_reasoning) return;
    if (!session.interactive && !session.options->common.verbose) return;
    std::string shown = view.to_terminal || stderr_is_terminal() ? harmless(text) : std::string(text);
    if (session.colour) shown = "\x1b[2m" + shown + "\x1b[0m";
    fprintf(stderr, "%s", shown.c_str());
    view.reasoning = true;
}

static bool show_event(void *user, const llm_event *event) {
    answer_view &view = *static_cast<answer_view *>(user);
    if (event->type == LLM_EVENT_PROMPT) {
        if (event->n_total) progress_show(view.bar, float(event->n_done) / float(event->n_total));
        return true;
    }
    progress_clear(view.bar);
    std::string_view text(event->text, event->length);
    if (view.json) {
        print_json([&](json_writer &json) {
            json_field(json, "event", event_name(event->type));
            json_field(json, "text", text);
        });
        return true;
    }
    if (text.empty()) return true;
    if (event->type == LLM_EVENT_REASONING) return show_reasoning(view, text), true;
    if (view.reasoning) fprintf(stderr, "\n");
    view.reasoning = false;
    view.last = text.back();
    std::string shown = view.to_terminal ? harmless(text) : std::string(text);
    fwrite(shown.data(), 1, shown.size(), stdout);
    fflush(stdout);
    return true;
}

static std::string finish_sentence(const chat_session &session, const llm_result &result) {
    switch (result.finish) {
    case LLM_FINISH_CANCELLED: return "stopped; ";
    case LLM_FINISH_CONTEXT: return "the context is full and cut the answer short; ";
    case LLM_FINISH_LIMIT: return "stopped after " + std::to_string(session.options->n_predict) + " tokens (-n); ";
    default: return "";
    }
}

static void show_end(const answer_view &view, const llm_result &result) {
    const chat_session &session = *view.session;
    if (view.json) {
        print_json([&](json_writer &json) {
            json_field(json, "event", "done");
            json_field(json, "finish", llm_finish_text(result.finish));
            if (result.stop_index >= 0) json_field(json, "stop_index", result.stop_index);
            json_field(json, "seed", session.seed);
            json.Key("usage");
            json_usage(json, result);
        });
        return;
    }
    if (view.last != '\n') printf("\n");
    fflush(stdout);
    std::string left = std::to_string(result.n_ctx - std::min(result.n_used, result.n_ctx)) + " of " +
                       std::to_string(result.n_ctx) + " tokens left";
    std::string before = finish_sentence(session, result);
    if (session.options->common.verbose) before += usage_text(result) + "; ";
    // In a pipe only what is out of the ordinary is said.
    if (session.interactive || !before.empty()) chat_notice(session, before + left);
}

// ---- room in the context

// Tokens of a text and what a template puts around a message (about 8). An estimate: the library decides.
static size_t message_tokens(const chat_session &session, std::string_view text) {
    std::vector<llm_token> ids;
    tokenize(session.loaded.model.get(), text, 0, ids, nullptr);
    return ids.size() + 8;
}

struct conversation_size {
    size_t fixed = 0;          // system message
    std::vector<size_t> turns; // a user message and its answer
};

static conversation_size measure(const chat_session &session) {
    conversation_size size;
    for (size_t i = 0; i < llm_chat_n_messages(session.chat.get()); i++) {
        const char *role = nullptr;
        llm_string content = {};
        if (llm_chat_message(session.chat.get(), i, &role, &content, nullptr) != LLM_OK) break;
        size_t n = message_tokens(session, {content.text, content.length});
        std::string_view name = role;
        if (name == "user")
            size.turns.push_back(n);
        else if (size.turns.empty())
            size.fixed += n;
        else
            size.turns.back() += n;
    }
    return size;
}

// How many of the oldest turns must go so that the message and a fair answer fit; 0 also when dropping cannot help.
static size_t turns_to_drop(const chat_session &session, const std::string &text) {
    uint32_t n_used = 0, n_ctx = 0;
    llm_chat_usage(session.chat.get(), &n_used, &n_ctx);
    uint32_t most = session.options->n_predict ? session.options->n_predict : UINT32_MAX;
    size_t answer = std::min({most, 256u, n_ctx / 4}), message = message_tokens(session, text);
    if (n_used + message + answer <= n_ctx) return 0; // the usual case, without measuring every message
    conversation_size size = measure(session);
    size_t total = size.fixed + message + answer, n_dropped = 0;
    if (size.fixed + message > n_ctx) return 0;
    for (size_t turn : size.turns) total += turn;
    while (total > n_ctx && n_dropped < size.turns.size()) total -= size.turns[n_dropped++];
    return n_dropped;
}

static bool drop_turns(chat_session &session, size_t n) {
    std::string turns = n == 1 ? "turn" : std::to_string(n) + " turns";
    if (session.options->common.json)
        print_json([&](json_writer &json) {
            json_field(json, "event", "dropping");
            json_field(json, "turns", n);
        });
    chat_notice(session, "the context is full: dropping the oldest " + turns);
    size_t n_dropped = 0;
    llm_error err = {};
    return llm_chat_drop_oldest(session.chat.get(), n, &n_dropped, &err) == LLM_OK && n_dropped > 0;
}

// Whether dropping turns can make room for the message.
static bool dropping_helps(const chat_session &session, const std::string &text) {
    uint32_t n_used = 0, n_ctx = 0;
    llm_chat_usage(session.chat.get(), &n_used, &n_ctx);
    conversation_size size = measure(session);
    return !size.turns.empty() && size.fixed + message_tokens(session, text) <= n_ctx;
}

// ---- sending

static llm_status send(chat_session &session, const std::string &text, answer_view &view, llm_error &err) {
    interruptible guard(session.chat.get());
    llm_result result = {};
    llm_status status = llm_chat_send(session.chat.get(), text.data(), text.size(), show_event, &view, &result, &err);
    // A Ctrl-C between the end of the answer before and the end of its call is still waiting for a call to stop.
    if (status == LLM_CANCELLED && !was_interrupted())
        status = llm_chat_send(session.chat.get(), text.data(), text.size(), show_event, &view, &result, &err);
    progress_clear(view.bar);
    if (status == LLM_OK) session.latest = result;
    return status;
}

static void count(chat_session &session) {
    session.n_answers++;
    session.n_generated += session.latest.n_generated;
    session.generate_seconds += session.latest.generate_seconds;
}

chat_outcome chat_say(chat_session &session, const std::string &text) {
    const common_options &common = session.options->common;
    if (size_t n = turns_to_drop(session, text)) drop_turns(session, n);
    answer_view view{&session, common.json, isatty(STDOUT_FILENO) != 0};
    view.bar = {"reading", stderr_is_terminal() && !common.quiet};
    llm_error err = {};
    llm_status status = send(session, text, view, err);
    // The estimate was too low; a message that does not fit alone leaves the conversation as it is.
    while (status == LLM_ERR_CONTEXT_FULL && dropping_helps(session, text) && drop_turns(session, 1))
        status = send(session, text, view, err);
    if (status == LLM_CANCELLED) {
        chat_notice(session, "stopped; the message was not read");
        return chat_outcome::interrupted;
    }
    if (status != LLM_OK) return fail(session, err);
    count(session);
    show_end(view, session.latest);
    const std::string &file = session.options->session;
    if (!file.empty() && llm_chat_save(session.chat.get(), file.c_str(), &err) != LLM_OK) return fail(session, err);
    return session.latest.finish == LLM_FINISH_CANCELLED ? chat_outcome::interrupted : chat_outcome::ok;
}
