// Messages and tools as programs give them: JSON, as for an OpenAI-style API. Read with the template engine's own
// reader, so that what is accepted here is what a template can be given.
#include "run/chat.h"
#include "text/jinja/value.h"

namespace llm {

namespace {

using namespace jinja;

constexpr size_t MAX_BYTES = (size_t)64 << 20;

llm_status read(heap *h, std::string_view json, const char *what, value *out, llm_error *err) {
    std::string reason;
    // Two levels are left for the variables that hold the messages.
    if (from_json(h, json, out, &reason, 2)) return LLM_OK;
    return fail(err, LLM_ERR_ARGUMENT, "the %s are no JSON: %s", what, reason.c_str());
}

llm_status write(const value &v, const char *what, std::string *out, llm_error *err) {
    const json_style style;
    budget left = {MAX_BYTES, MAX_BYTES};
    text made;
    std::string reason;
    if (!to_json(v, &style, &left, &made, &reason))
        return fail(err, LLM_ERR_ARGUMENT, "the %s are too large or nested too deeply", what);
    *out = std::move(made.bytes);
    return LLM_OK;
}

llm_status read_message(const value &v, size_t i, chat_turn *out, llm_error *err) {
    if (v.type != DICT) return fail(err, LLM_ERR_ARGUMENT, "message %zu is no JSON object", i);
    const value *role = dict_find(v.d, "role"), *content = dict_find(v.d, "content");
    if (!role || role->type != STRING || role->s->bytes.empty())
        return fail(err, LLM_ERR_ARGUMENT, "message %zu has no \"role\"", i);
    out->role = role->s->bytes;
    if (content && content->type == STRING) out->content = content->s->bytes;
    return write(v, "messages", &out->json, err);
}

} // namespace

llm_status chat_read_messages(std::string_view json, std::vector<chat_turn> *out, llm_error *err) {
    heap h;
    value all;
    LLM_TRY(read(&h, json, "messages", &all, err));
    const std::vector<value> items = all.type == LIST ? all.l->items : std::vector<value>{all};
    std::vector<chat_turn> turns(items.size());
    for (size_t i = 0; i < items.size(); i++) LLM_TRY(read_message(items[i], i, &turns[i], err));
    out->insert(out->end(), turns.begin(), turns.end());
    return LLM_OK;
}

llm_status chat_read_tools(std::string_view json, std::string *out, llm_error *err) {
    out->clear();
    if (json.empty()) return LLM_OK;
    heap h;
    value all;
    LLM_TRY(read(&h, json, "tools", &all, err));
    if (all.type != LIST) return fail(err, LLM_ERR_ARGUMENT, "the tools are no JSON array");
    return all.l->items.empty() ? LLM_OK : write(all, "tools", out, err);
}

std::vector<chat_message> chat_views(const std::vector<chat_turn> &turns) {
    std::vector<chat_message> out;
    for (const chat_turn &turn : turns) out.push_back({turn.role, turn.content, turn.json});
    return out;
}

} // namespace llm
