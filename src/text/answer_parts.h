// What a model writes, split into answer, reasoning and tool calls, as its bytes stream. Which marks a model uses is
// told from its chat template: a row of the table counts where the template has its marks.
#pragma once
#include "core/status.h"
#include <string>
#include <string_view>
#include <vector>

namespace llm {

struct answer_marks {
    const char *begin, *end; // end "": the part goes on to the end of the answer
    llm_event_type kind;
};

struct answer_part {
    llm_event_type kind;
    std::string text; // marks are left out, and the line ends beside those of reasoning
};

struct answer_splitter {
    std::vector<const answer_marks *> known;
    const answer_marks *open = nullptr; // the part that is being written; NULL: the answer
    bool answered = false;              // something of the answer was given: reasoning can begin no more
    bool skips_line_ends = false;
    std::string held; // may still become a mark
};

// prompt: what stands before the answer. Where it ends in the mark that begins reasoning, that is how the answer begins.
void answer_splitter_init(answer_splitter *s, std::string_view chat_template, std::string_view prompt);
// Whether a control token of this text, which is not shown otherwise, is a mark.
bool answer_splitter_knows(const answer_splitter *s, std::string_view token);
// Appends parts; whichever way a text is cut, the joined parts are the same.
void answer_splitter_add(answer_splitter *s, std::string_view text, std::vector<answer_part> *out);
void answer_splitter_finish(answer_splitter *s, std::vector<answer_part> *out);

} // namespace llm
