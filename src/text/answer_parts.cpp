#include "text/answer_parts.h"
#include <algorithm>

namespace llm {

static const answer_marks all_marks[] = {
    {"<think>", "</think>", LLM_EVENT_REASONING}, // Qwen 3, DeepSeek R1, SmolLM3, GLM, ...
    {"[THINK]", "[/THINK]", LLM_EVENT_REASONING}, // Magistral
    {"<seed:think>", "</seed:think>", LLM_EVENT_REASONING},
    {"<|START_THINKING|>", "<|END_THINKING|>", LLM_EVENT_REASONING},   // Command R7B and A
    {"<tool_call>", "</tool_call>", LLM_EVENT_TOOL_CALL},              // Hermes, Qwen, GLM
    {"<|tool_call_start|>", "<|tool_call_end|>", LLM_EVENT_TOOL_CALL}, // LFM2
    {"<|tool_call_begin|>", "<|tool_call_end|>", LLM_EVENT_TOOL_CALL}, // Kimi K2
    {"<seed:tool_call>", "</seed:tool_call>", LLM_EVENT_TOOL_CALL},
    {"<minimax:tool_call>", "</minimax:tool_call>", LLM_EVENT_TOOL_CALL},
    {"<|START_ACTION|>", "<|END_ACTION|>", LLM_EVENT_TOOL_CALL},
    {"<TOOLCALL>", "</TOOLCALL>", LLM_EVENT_TOOL_CALL},                                      // Nemotron
    {"[TOOL_CALLS]", "", LLM_EVENT_TOOL_CALL},                                               // Mistral
    {"<|python_tag|>", "", LLM_EVENT_TOOL_CALL},                                             // Llama 3.1
    {"<|tool\u2581calls\u2581begin|>", "<|tool\u2581calls\u2581end|>", LLM_EVENT_TOOL_CALL}, // DeepSeek
};

static bool ends_with(std::string_view text, std::string_view end) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

void answer_splitter_init(answer_splitter *s, std::string_view chat_template, std::string_view prompt) {
    *s = answer_splitter();
    for (const answer_marks &marks : all_marks) {
        const bool begins = chat_template.find(marks.begin) != std::string_view::npos;
        const bool ends = *marks.end && chat_template.find(marks.end) != std::string_view::npos;
        if (!begins && !ends) continue;
        s->known.push_back(&marks);
        if (marks.kind == LLM_EVENT_REASONING && ends_with(prompt, marks.begin)) s->open = &marks;
    }
    s->skips_line_ends = s->open;
}

bool answer_splitter_knows(const answer_splitter *s, std::string_view token) {
    return std::any_of(s->known.begin(), s->known.end(),
                       [&](const answer_marks *marks) { return token == marks->begin || token == marks->end; });
}

static void give(answer_splitter *s, std::string_view text, std::vector<answer_part> *out) {
    if (s->skips_line_ends) {
        text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
        if (text.empty()) return;
        s->skips_line_ends = false;
    }
    if (text.empty()) return;
    const llm_event_type kind = s->open ? s->open->kind : LLM_EVENT_ANSWER;
    if (!s->open && text.find_first_not_of(" \n") != std::string_view::npos) s->answered = true;
    if (out->empty() || out->back().kind != kind) out->push_back({kind, {}});
    out->back().text.append(text);
}

// How much of the end of `text` may be the beginning of `mark`.
static size_t overlap(std::string_view text, std::string_view mark) {
    size_t n = std::min(text.size(), mark.empty() ? 0 : mark.size() - 1);
    while (n && text.substr(text.size() - n) != mark.substr(0, n)) n--;
    return n;
}

// The first mark in what is held that means something now; NULL: none. *n_kept: bytes of the end that may become one.
static const answer_marks *find_mark(const answer_splitter *s, size_t *at, size_t *n_kept) {
    const answer_marks *found = nullptr;
    *at = std::string::npos;
    *n_kept = 0;
    auto look = [&](const answer_marks *marks, std::string_view mark) {
        const size_t where = mark.empty() ? std::string::npos : s->held.find(mark);
        if (where < *at) {
            *at = where;
            found = marks;
        }
        *n_kept = std::max(*n_kept, overlap(s->held, mark));
    };
    if (s->open) return look(s->open, s->open->end), found;
    for (const answer_marks *marks : s->known) look(marks, marks->begin);
    return found;
}

// Reasoning comes before the answer: later its mark is text like any other.
static bool may_begin(const answer_splitter *s, const answer_marks *marks, size_t at) {
    if (marks->kind != LLM_EVENT_REASONING) return true;
    return !s->answered && s->held.find_first_not_of(" \n") >= at;
}

void answer_splitter_add(answer_splitter *s, std::string_view text, std::vector<answer_part> *out) {
    s->held.append(text);
    size_t at, n_kept;
    while (const answer_marks *marks = find_mark(s, &at, &n_kept)) {
        const bool ends = s->open, begins = !ends && may_begin(s, marks, at);
        const size_t n_mark = std::string_view(ends ? marks->end : marks->begin).size();
        give(s, std::string_view(s->held).substr(0, begins || ends ? at : at + n_mark), out);
        s->held.erase(0, at + n_mark);
        if (!begins && !ends) continue;
        s->open = begins ? marks : nullptr;
        s->skips_line_ends = marks->kind == LLM_EVENT_REASONING;
    }
    give(s, std::string_view(s->held).substr(0, s->held.size() - n_kept), out);
    s->held.erase(0, s->held.size() - n_kept);
}

void answer_splitter_finish(answer_splitter *s, std::vector<answer_part> *out) {
    give(s, s->held, out);
    s->held.clear();
}

} // namespace llm
