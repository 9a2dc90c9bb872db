// Messages and tools as programs give them: JSON, as for an OpenAI-style API.
#include "run/chat.h"
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace llm {

namespace {

constexpr int MAX_DEPTH = 60; // the template engine reads up to 64, and messages lie two deep in its variables

// Iterative, numbers kept as they are written.
constexpr unsigned FLAGS =
    rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag;

// Deeper values are refused before a document, whose destructor recurses, is made of them.
bool too_deep(std::string_view json) {
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < json.size(); i++) {
        const char c = json[i];
        if (in_string) {
            if (c == '\\') i++;
            if (c == '"') in_string = false;
            continue;
        }
        if (c == '"') in_string = true;
        if ((c == '{' || c == '[') && ++depth > MAX_DEPTH) return true;
        if (c == '}' || c == ']') depth--;
    }
    return false;
}

// Copies one value's text: a handler that writes what it reads, numbers raw.
struct copier {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out{buffer};
    bool Null() { return out.Null(); }
    bool Bool(bool b) { return out.Bool(b); }
    bool Int(int i) { return out.Int(i); }
    bool Uint(unsigned i) { return out.Uint(i); }
    bool Int64(int64_t i) { return out.Int64(i); }
    bool Uint64(uint64_t i) { return out.Uint64(i); }
    bool Double(double d) { return out.Double(d); }
    bool RawNumber(const char *s, rapidjson::SizeType n, bool) { return out.RawValue(s, n, rapidjson::kNumberType); }
    bool String(const char *s, rapidjson::SizeType n, bool) { return out.String(s, n); }
    bool StartObject() { return out.StartObject(); }
    bool Key(const char *s, rapidjson::SizeType n, bool) { return out.Key(s, n); }
    bool EndObject(rapidjson::SizeType n) { return out.EndObject(n); }
    bool StartArray() { return out.StartArray(); }
    bool EndArray(rapidjson::SizeType n) { return out.EndArray(n); }
    std::string text() const { return {buffer.GetString(), buffer.GetSize()}; }
};

llm_status check_syntax(std::string_view json, const char *what, copier *copy, llm_error *err) {
    if (too_deep(json)) return fail(err, LLM_ERR_ARGUMENT, "the %s are nested more than %d deep", what, MAX_DEPTH);
    rapidjson::MemoryStream stream(json.data(), json.size());
    rapidjson::Reader reader;
    const rapidjson::ParseResult result = reader.Parse<FLAGS>(stream, *copy);
    if (!result.IsError()) return LLM_OK;
    return fail(err, LLM_ERR_ARGUMENT, "the %s are no JSON: %s (at byte %zu)", what,
                rapidjson::GetParseError_En(result.Code()), result.Offset());
}

// Numbers lose digits here and are not looked at: the text keeps them.
bool parse(const std::string &json, rapidjson::Document *out) {
    rapidjson::MemoryStream stream(json.data(), json.size());
    out->ParseStream<rapidjson::kParseIterativeFlag>(stream);
    return !out->HasParseError();
}

llm_status read_message(const rapidjson::Value &v, size_t i, chat_turn *out, llm_error *err) {
    if (!v.IsObject()) return fail(err, LLM_ERR_ARGUMENT, "message %zu is no JSON object", i);
    const auto role = v.FindMember("role"), content = v.FindMember("content");
    if (role == v.MemberEnd() || !role->value.IsString() || !role->value.GetStringLength())
        return fail(err, LLM_ERR_ARGUMENT, "message %zu has no \"role\"", i);
    out->role.assign(role->value.GetString(), role->value.GetStringLength());
    if (content != v.MemberEnd() && content->value.IsString())
        out->content.assign(content->value.GetString(), content->value.GetStringLength());
    return LLM_OK;
}

// Text of each element of an array at depth 1, by position: the copy has no white space outside of strings.
std::vector<std::string> elements(const std::string &array) {
    std::vector<std::string> out;
    int depth = 0;
    bool in_string = false;
    size_t begin = 1;
    for (size_t i = 0; i < array.size(); i++) {
        const char c = array[i];
        if (in_string) {
            if (c == '\\') i++;
            if (c == '"') in_string = false;
            continue;
        }
        if (c == '"') in_string = true;
        if (c == '{' || c == '[') depth++;
        const bool ends = (c == ']' && depth == 1) || (c == ',' && depth == 1);
        if (ends && i > begin) out.push_back(array.substr(begin, i - begin));
        if (ends) begin = i + 1;
        if (c == '}' || c == ']') depth--;
    }
    return out;
}

} // namespace

llm_status chat_read_messages(std::string_view json, std::vector<chat_turn> *out, llm_error *err) {
    copier copy;
    LLM_TRY(check_syntax(json, "messages", &copy, err));
    std::string text = copy.text();
    if (text.empty() || text[0] != '[') text = "[" + text + "]";
    rapidjson::Document all;
    if (!parse(text, &all) || !all.IsArray()) return fail(err, LLM_ERR_ARGUMENT, "the messages are no JSON array");
    std::vector<std::string> texts = elements(text);
    if (texts.size() != all.Size()) return fail(err, LLM_ERR_ARGUMENT, "the messages are no JSON array of objects");
    std::vector<chat_turn> turns;
    for (rapidjson::SizeType i = 0; i < all.Size(); i++) {
        chat_turn turn;
        LLM_TRY(read_message(all[i], i, &turn, err));
        turn.json = texts[i];
        turns.push_back(std::move(turn));
    }
    out->insert(out->end(), turns.begin(), turns.end());
    return LLM_OK;
}

llm_status chat_read_tools(std::string_view json, std::string *out, llm_error *err) {
    out->clear();
    if (json.empty()) return LLM_OK;
    copier copy;
    LLM_TRY(check_syntax(json, "tools", &copy, err));
    std::string text = copy.text();
    if (text[0] != '[') return fail(err, LLM_ERR_ARGUMENT, "the tools are no JSON array");
    if (text != "[]") *out = std::move(text);
    return LLM_OK;
}

std::vector<chat_message> chat_views(const std::vector<chat_turn> &turns) {
    std::vector<chat_message> out;
    for (const chat_turn &turn : turns) out.push_back({turn.role, turn.content, turn.json});
    return out;
}

} // namespace llm
