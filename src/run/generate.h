// Prompt in, tokens out: decodes, samples, turns tokens into text, looks for ends.
#pragma once
#include "run/context.h"
#include "run/sampler.h"
#include "text/answer_parts.h"
#include "text/stop.h"

namespace llm {

struct generate_options {
    uint32_t seq = 0;
    uint32_t n_predict = 0;
    bool ignore_eog = false;
    stop_matcher *stops = nullptr;       // reset by the call; may be NULL
    answer_splitter *parts = nullptr;    // how events are typed; NULL: all is answer
    llm_event_callback callback = nullptr;
    void *user = nullptr;
};

// Contract of llm_generate. `text` (may be NULL) receives what was given out as the answer; `made` (may be NULL) the
// sampled ids.
llm_status generate(context *c, sampler *s, const generate_options *options, const llm_token *ids, size_t n_ids,
                    std::vector<llm_token> *made, std::string *text, llm_result *result, llm_error *err);

} // namespace llm
