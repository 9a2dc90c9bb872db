#include "text/answer_parts.h"
#include "test.h"
#include <algorithm>

using namespace llm;

namespace {

std::string shown(const std::vector<answer_part> &parts) {
    std::string all;
    llm_event_type last = LLM_EVENT_PROMPT;
    for (const answer_part &part : parts) {
        if (part.kind != last)
            all += part.kind == LLM_EVENT_REASONING ? "R:" : part.kind == LLM_EVENT_TOOL_CALL ? "T:" : "A:";
        all += part.text;
        last = part.kind;
    }
    return all;
}

// Cut after every n-th byte.
std::string split(const std::string &chat_template, const std::string &prompt, const std::string &text, size_t n) {
    answer_splitter s;
    answer_splitter_init(&s, chat_template, prompt);
    std::vector<answer_part> parts;
    for (size_t at = 0; at < text.size(); at += n) answer_splitter_add(&s, text.substr(at, n), &parts);
    answer_splitter_finish(&s, &parts);
    return shown(parts);
}

struct example {
    const char *chat_template, *prompt, *text, *parts;
};
const example examples[] = {
    {"</think>", "", "<think>\nhm\n</think>\n\nYes.", "R:hm\nA:Yes."},
    {"</think>", "<|im_start|>assistant\n<think>\n", "hm</think>Yes.", "R:hmA:Yes."},
    {"</think>", "", "\n\n<think></think>\n\nYes.", "A:\n\nYes."},
    {"</think>", "", "The mark <think> and </think> is text here.", "A:The mark <think> and </think> is text here."},
    {"</think>", "", "<think>a <think> b</think>c<think>d", "R:a <think> bA:c<think>d"},
    {"</think>", "", "<think>unfinished </thi", "R:unfinished </thi"},
    {"no marks", "<think>", "<think>x</think>", "A:<think>x</think>"},
    {"<tool_call></think>", "",
     "<think>t</think>\nI call <tool_call>\n{\"a\":1}\n</tool_call>\n<tool_call>b</tool_call>",
     "R:tA:I call T:\n{\"a\":1}\nA:\nT:b"},
    {"[TOOL_CALLS]", "", "[TOOL_CALLS][{\"name\": \"<tool_call>\"}]", "T:[{\"name\": \"<tool_call>\"}]"},
    {"[THINK] [TOOL_CALLS]", "", "[THINK]x[/THINK]y [[TOOL_CALLS]z", "R:xA:y [T:z"},
    {"</think>", "", "", ""},
    {"</think>", "", "<", "A:<"},
};

} // namespace

TEST_CASE("answers are split into reasoning, tool calls and text, wherever they are cut", "[text]") {
    for (const example &e : examples)
        for (size_t n : {1000, 1, 2, 3, 5, 7, 11}) {
            INFO(e.text << ", every " << n);
            CHECK(split(e.chat_template, e.prompt, e.text, n) == e.parts);
        }
}

TEST_CASE("random texts of marks are split the same way wherever they are cut", "[text]") {
    const char *pieces[] = {"<think>", "</think>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]",
                            "<",       "</",       "t",           "\n",           " "};
    uint32_t state = 7;
    auto random = [&](uint32_t n) {
        state = state * 1664525u + 1013904223u;
        return (state >> 8) % n;
    };
    for (int round = 0; round < 2000; round++) {
        std::string text;
        for (uint32_t i = random(12); i; i--) text += pieces[random(10)];
        const std::string whole = split("</think><tool_call>[TOOL_CALLS]", "", text, 1000);
        INFO(text);
        for (size_t n : {1, 2, 3, 4, 9}) CHECK(split("</think><tool_call>[TOOL_CALLS]", "", text, n) == whole);
    }
}
