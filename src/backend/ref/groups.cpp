#include "backend/ref/groups.h"

namespace llm {

static const struct {
    format_id format;
    group_decoder *decode;
} decoders[] = {
    {FORMAT_Q4_0, group_q4_0}, {FORMAT_Q4_1, group_q4_1}, {FORMAT_Q5_0, group_q5_0}, {FORMAT_Q5_1, group_q5_1},
    {FORMAT_Q8_0, group_q8_0}, {FORMAT_Q4_K, group_q4_k}, {FORMAT_Q5_K, group_q5_k}, {FORMAT_Q6_K, group_q6_k},
};

group_decoder *find_group_decoder(format_id format) {
    for (const auto &d : decoders)
        if (d.format == format) return d.decode;
    return nullptr;
}

} // namespace llm
