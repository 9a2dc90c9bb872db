#include "request.h"
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace {

// Remembers where the members of the outermost object begin and end.
struct member_finder {
    std::string_view line;
    rapidjson::MemoryStream *stream;
    request_members *members;
    int depth = 0;
    size_t begin = 0;
    std::string key;

    size_t at() const { return stream->Tell(); }
    bool scalar(const char *text, size_t n) {
        if (depth != 1) return depth > 1;
        request_member &m = (*members)[key];
        m.is_string = text != nullptr;
        if (text) m.text.assign(text, n);
        // The value began at the first byte after the colon that is no white space.
        const size_t start = line.find_first_not_of(" \t\r\n", begin);
        m.raw = std::string(line.substr(start, at() - start));
        return true;
    }
    bool open() {
        if (depth++ == 0) return true;
        if (depth == 2) begin = at() - 1;
        return true;
    }
    bool close() {
        if (--depth == 1) (*members)[key].raw = std::string(line.substr(begin, at() - begin));
        return true;
    }

    bool Null() { return scalar(nullptr, 0); }
    bool Bool(bool) { return scalar(nullptr, 0); }
    bool Int(int) { return scalar(nullptr, 0); }
    bool Uint(unsigned) { return scalar(nullptr, 0); }
    bool Int64(int64_t) { return scalar(nullptr, 0); }
    bool Uint64(uint64_t) { return scalar(nullptr, 0); }
    bool Double(double) { return scalar(nullptr, 0); }
    bool RawNumber(const char *, rapidjson::SizeType, bool) { return scalar(nullptr, 0); }
    bool String(const char *s, rapidjson::SizeType n, bool) { return scalar(s, n); }
    bool Key(const char *s, rapidjson::SizeType n, bool) {
        if (depth != 1) return true;
        key.assign(s, n);
        begin = line.find(':', at()) + 1;
        return true;
    }
    bool StartObject() { return open(); }
    bool EndObject(rapidjson::SizeType) { return close(); }
    bool StartArray() { return depth > 0 && open(); }
    bool EndArray(rapidjson::SizeType) { return close(); }
};

} // namespace

std::string parse_request(std::string_view line, request_members &members) {
    rapidjson::MemoryStream stream(line.data(), line.size());
    member_finder finder;
    finder.line = line;
    finder.stream = &stream;
    finder.members = &members;
    rapidjson::Reader reader;
    const rapidjson::ParseResult result =
        reader.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag>(stream, finder);
    if (!result.IsError()) return "";
    if (result.Code() == rapidjson::kParseErrorTermination) return "a request is a JSON object";
    return std::string("not JSON: ") + rapidjson::GetParseError_En(result.Code()) + " at byte " +
           std::to_string(result.Offset());
}

const request_member *find_member(const request_members &members, const char *name) {
    auto found = members.find(name);
    return found == members.end() ? nullptr : &found->second;
}
