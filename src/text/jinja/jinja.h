// Chat templates as models ship them: the Jinja2 language (https://jinja.palletsprojects.com/templates/) in the form
// that the transformers library gives it: trim_blocks, lstrip_blocks, loop controls, `generation` blocks,
// raise_exception, strftime_now, tojson without HTML escapes. What the language has and a chat template cannot use
// (inheritance, imports, autoescaping) is refused by name.
//
// Rendering knows which bytes of its result come from the variables and which from the template, so that a message
// can spell a control token without becoming one.
#pragma once
#include "core/status.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llm {

struct jinja_template;
struct jinja_free {
    void operator()(jinja_template *t) const;
};
using jinja_handle = std::unique_ptr<jinja_template, jinja_free>;

struct jinja_place {
    uint32_t line = 0, column = 0; // from 1; 0: not known
};

// LLM_ERR_TEMPLATE: the sentence begins with the place, which is also given in *at (may be NULL).
llm_status jinja_compile(std::string_view source, jinja_handle *out, jinja_place *at, llm_error *err);

struct jinja_time {
    int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;
};
bool jinja_time_parse(const char *iso, jinja_time *out); // 2025-07-26T14:05:09
jinja_time jinja_time_now();                             // local time

struct jinja_limits {
    size_t bytes = (size_t)64 << 20; // of all values that one rendering makes
    uint64_t steps = 20000000;       // evaluations, and elements or bytes walked over in bulk
};

struct jinja_result {
    std::string text;
    std::string marks; // empty, or a byte per byte of text: 1 where it comes from the variables
};

// variables: a JSON object. Threads may render one template at the same time.
llm_status jinja_render(const jinja_template *t, std::string_view variables, const jinja_time *now,
                        const jinja_limits *limits, jinja_result *out, jinja_place *at, llm_error *err);

} // namespace llm
