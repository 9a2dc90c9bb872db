// The split patterns of every pre-tokenizer that GGUF files name, as PCRE2 (UTF, UCP) reads them.
//
// Each is the pattern of the model's own tokenizer.json, with these rewrites, which change no cut:
//  - White space is spelt out (WS). PCRE2's \s also takes U+180E, which Unicode and the originals do not.
//  - PCRE2 10.42 has no class intersection: [X&&[^\p{Han}]] is the complement class of all other categories and Han.
//    \p{sc:Han} is the script itself; plain \p{Han} would also take characters shared with other scripts.
//  - Repeated groups are unrolled into repeated classes, and digit look-aheads are the digits_by_3 step, so that a
//  match
//    needs constant memory and no search is quadratic (`\s+$` after a long run of spaces was).
#include "text/pretokenizer.h"
#include <iterator>
#include <string.h>

namespace llm {

// clang-format off
#define WS         R"(\t-\r\x{85}\p{Z})" /* inside a class */
#define NOT_WORD   "[^" WS R"(\p{L}\p{N}])"
#define SPACES     "[" WS "]+(?![^" WS "])|[" WS "]+"
#define LINE_ENDS  "[" WS R"(]*[\r\n]+)"
#define SHORT_FORMS "'s|'t|'re|'ve|'m|'ll|'d"
#define SHORT_FORMS_ANY_CASE "(?i:" SHORT_FORMS ")"
#define LEAD       R"([^\r\n\p{L}\p{N}]?)"
#define UPPER      R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER      R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define UPPER_NO_HAN R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define LOWER_NO_HAN R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
// Words of GPT-4o and its heirs: capitals then small letters; `after` is what may follow directly.
#define CASED_WORDS(upper, lower, after) LEAD upper "*" lower "+" after "|" LEAD upper "+" lower "*" after
// Words, symbols and white space of Llama 3 and its heirs around the number rule in the middle.
#define LLAMA3_WITH(numbers) SHORT_FORMS_ANY_CASE "|" LEAD R"(\p{L}+|)" numbers "| ?" NOT_WORD R"(+[\r\n]*|)" LINE_ENDS "|" SPACES
#define GPT2       SHORT_FORMS R"(| ?\p{L}+| ?\p{N}+| ?)" NOT_WORD "+|" SPACES
#define QWEN2      LLAMA3_WITH(R"(\p{N})")
#define GPT4O_WITH(numbers) CASED_WORDS(UPPER, LOWER, SHORT_FORMS_ANY_CASE "?") "|" numbers "| ?" NOT_WORD R"(+[\r\n/]*|)" LINE_ENDS "|" SPACES
#define DEEPSEEK3  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" LINE_ENDS "|" SPACES
#define SPARK25    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|)" SPACES
#define BLOOM      " ?[^(" WS R"(|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)"
#define CJK_AND_KANA R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"
#define LETTERS_OF_DEEPSEEK_LLM \
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373})" \
    R"(\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481})" \
    R"(\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})" \
    R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})" \
    R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})" \
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC})" \
    R"(\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126})" \
    R"(\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})" \
    R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B})" \
    R"(\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})" \
    R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})" \
    R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
#define ASIAN_OF_AFMOE \
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F})" \
    R"(\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F})" \
    R"(\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)"

static constexpr split_op re = split_op::regex;

static const split_step gpt2[] = {{re, GPT2}};
static const split_step digits_gpt2[] = {{re, R"(\p{N})"}, {re, GPT2}};
static const split_step llama3[] = {{re, LLAMA3_WITH(R"(\p{N}{1,3})")}};
static const split_step qwen2[] = {{re, QWEN2}};
static const split_step ufakzeka[] = {{re, LEAD R"(\p{L}+|\p{N}| ?)" NOT_WORD R"(+[\r\n]*|)" LINE_ENDS "|" SPACES}};
static const split_step qwen35[] = {{re, SHORT_FORMS_ANY_CASE "|" LEAD R"([\p{L}\p{M}]+|\p{N}| ?[^)" WS R"(\p{L}\p{M}\p{N}]+[\r\n]*|)" LINE_ENDS "|" SPACES}};
static const split_step minicpm5[] = {{re, R"(\p{N}{1,3})"}, {re, LLAMA3_WITH(R"(\p{N}+)")}};
static const split_step laguna[] = {{re, R"([^\n]+|\n+)"}, {re, QWEN2}};
// The look-behind changes no cut: after a group of spaces the run holds no line end any more. Without it each group
// would look for one to the end of the run.
static const split_step jais2[] = {{re, SHORT_FORMS_ANY_CASE "|" LEAD R"(\p{L}+|\p{N}{1,3}| ?)" NOT_WORD R"(+[\r\n]*|)"
    R"((?<![\t\x0b\x0c\x{85}\p{Z}]))" LINE_ENDS
    "|[" WS "]{512}(?![^" WS "])|[" WS "]{256}(?![^" WS "])|[" WS "]{128}(?![^" WS "])|[" WS "]{64}(?![^" WS "])"
    "|[" WS "]{32}(?![^" WS "])|[" WS "]{16}(?![^" WS "])|[" WS "]{8}(?![^" WS "])|[" WS "]{4}(?![^" WS "])"
    "|[" WS "]{1,2}(?![^" WS "])|[" WS "]"}};
static const split_step bailingmoe[] = {{re, "'(?i:[sdmt]|ll|ve|re)|" LEAD R"(\p{L}+|\p{N}| ?)" NOT_WORD R"(+[\r\n]*|)" "[" WS R"(]*[\r\n]|)" SPACES}};
static const split_step seed_coder[] = {{re, SHORT_FORMS_ANY_CASE "|" LEAD R"(\p{L}+|\p{N}| ?)" NOT_WORD "+|" LINE_ENDS "|" SPACES}};
static const split_step exaone_moe[] = {{re, SHORT_FORMS_ANY_CASE "|" LEAD R"((?:\p{L}[\p{L}\p{M}]*+(?: \p{L}[\p{L}\p{M}]*+)*+)|\p{N}| ?)" NOT_WORD R"(+[\r\n/]?|)" "[" WS R"(]*[\r\n]|)" SPACES}};
static const split_step gpt4o[] = {{re, GPT4O_WITH(R"(\p{N}{1,3})")}};
static const split_step tekken[] = {{re, CASED_WORDS(UPPER, LOWER, "") R"(|\p{N}| ?)" NOT_WORD R"(+[\r\n/]*|)" LINE_ENDS "|" SPACES}};
static const split_step kimi_k2[] = {{re, R"(\p{sc:Han}+|)" CASED_WORDS(UPPER_NO_HAN, LOWER_NO_HAN, SHORT_FORMS_ANY_CASE "?") R"(|\p{N}{1,3}| ?)" NOT_WORD R"(+[\r\n]*|)" LINE_ENDS "|" SPACES}};
// Groups of three count from the right end of a run of digits, and only where the run ends a word: `\b` of the original
// counts marks and connectors as parts of words, PCRE2's does not.
static const split_step tiny_aya[] = {{re, R"((?<!\p{Nd})\p{Nd}++(?![\w\p{M}\p{Pc}]))"}, {split_op::digits_by_3, nullptr}, {re, GPT4O_WITH(R"(\p{N}{1,3})")}};
static const split_step youtu[] = {
    {re, R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|)" CJK_AND_KANA},
    {re, GPT4O_WITH(R"(\p{N})")}};
static const split_step superbpe[] = {{re, R"(\p{N}+)"}, {split_op::digits_by_3, nullptr}};
static const split_step deepseek_llm[] = {
    {re, R"([\r\n])"},
    {re, "[" WS "]?[" LETTERS_OF_DEEPSEEK_LLM "]+"},
    {re, "[" WS R"(]?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"},
    {re, "(?<![" WS "])[" WS R"(]++\z)"},
    {re, R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)"},
    {re, R"(\p{N}+)"}};
static const split_step deepseek_coder[] = {
    {re, R"([\r\n])"},
    {re, "[" WS R"(]?\p{L}+)"},
    {re, "[" WS R"(]?\p{P}+)"},
    {re, R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)"},
    {re, R"(\p{N})"}};
static const split_step deepseek_v3[] = {{re, R"(\p{N}{1,3})"}, {re, CJK_AND_KANA}, {re, DEEPSEEK3}};
static const split_step spark25[] = {{re, R"(\p{N}{1,3})"}, {re, CJK_AND_KANA}, {re, SPARK25}, {re, R"(\p{N})"}};
static const split_step afmoe[] = {{re, R"(\p{Nd}+)"}, {split_op::digits_by_3, nullptr}, {re, ASIAN_OF_AFMOE}, {re, DEEPSEEK3}};
static const split_step bloom[] = {{re, BLOOM}};
static const split_step viking[] = {{re, BLOOM}, {re, R"(\p{N})"}};
static const split_step falcon[] = {{re, R"([\p{P}$+<=>^~|`]+)"}, {re, GPT2}, {re, "[0-9][0-9][0-9]"}};
static const split_step plain[] = {{re, R"([\p{P}$+<=>^~|]+)"}, {re, GPT2}, {re, R"(\p{N}+)"}, {re, "[0-9][0-9][0-9]"}};
static const split_step chameleon[] = {
    {re, "<sentinel:[0-9]+>"},
    {re, "IMGIMG[A-I]{1,4}Z"},
    {re, R"([\t\n]|    |  )"},
    {re, R"(\p{N})"},
    {re, R"([\p{P}!-/:-@\[-`{-~])"},
    {re, GPT2}};
static const split_step lines[] = {{re, R"([^\n]+|\n+)"}};

#define FAMILY(steps) {steps, std::size(steps)}
// NFC: from the tokenizer.json of the models that use the name.
static const pre_row rows[] = {
    {"default", FAMILY(plain), 0},
    {"gpt-2", FAMILY(gpt2), 0},
    {"phi-2", FAMILY(gpt2), 0},
    {"jina-es", FAMILY(gpt2), 0},
    {"jina-de", FAMILY(gpt2), 0},
    {"jina-v1-en", FAMILY(gpt2), PRE_ADD_SEP | PRE_MASK_EATS_SPACE},
    {"jina-v2-es", FAMILY(gpt2), PRE_MASK_EATS_SPACE},
    {"jina-v2-de", FAMILY(gpt2), PRE_MASK_EATS_SPACE},
    {"jina-v2-code", FAMILY(gpt2), PRE_ADD_SEP | PRE_MASK_EATS_SPACE},
    {"roberta-bpe", FAMILY(gpt2), PRE_ADD_SEP | PRE_MASK_EATS_SPACE},
    {"modern-bert", FAMILY(gpt2), PRE_NFC | PRE_MASK_EATS_SPACE},
    {"gpt-neox", FAMILY(gpt2), PRE_NFC},
    {"mpt", FAMILY(gpt2), PRE_NFC_OF_FAMILY},
    {"olmo", FAMILY(gpt2), PRE_NFC},
    {"gigachat", FAMILY(gpt2), 0},
    {"jais", FAMILY(gpt2), 0},
    {"exaone4", FAMILY(gpt2), 0},
    {"trillion", FAMILY(gpt2), 0},
    {"granite-docling", FAMILY(gpt2), 0},
    {"a.x-4.0", FAMILY(gpt2), 0},
    {"mellum", FAMILY(gpt2), 0},
    {"starcoder", FAMILY(digits_gpt2), 0},
    {"refact", FAMILY(digits_gpt2), 0},
    {"mellum2", FAMILY(digits_gpt2), 0},
    {"command-r", FAMILY(digits_gpt2), PRE_NFC},
    {"smollm", FAMILY(digits_gpt2), 0},
    {"codeshell", FAMILY(digits_gpt2), 0},
    {"exaone", FAMILY(digits_gpt2), 0},
    {"minerva-7b", FAMILY(digits_gpt2), 0},
    {"llama-bpe", FAMILY(llama3), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"llama3", FAMILY(llama3), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"llama-v3", FAMILY(llama3), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"falcon3", FAMILY(llama3), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"falcon-h1", FAMILY(llama3), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"pixtral", FAMILY(llama3), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"midm-2.0", FAMILY(llama3), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"lfm2", FAMILY(llama3), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"jina-v5-nano", FAMILY(llama3), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"dbrx", FAMILY(llama3), 0},
    {"smaug-bpe", FAMILY(llama3), 0},
    {"glm4", FAMILY(llama3), 0},
    {"chatglm-bpe", FAMILY(llama3), 0},
    {"minicpm5", FAMILY(minicpm5), PRE_WHOLE_WORDS},
    {"qwen2", FAMILY(qwen2), PRE_NFC_OF_FAMILY},
    {"deepseek-r1-qwen", FAMILY(qwen2), PRE_NFC},
    {"kormo", FAMILY(qwen2), PRE_NFC},
    {"f2llmv2", FAMILY(qwen2), PRE_NFC},
    {"megrez", FAMILY(qwen2), PRE_NFC},
    {"stablelm2", FAMILY(qwen2), PRE_NFC},
    {"hunyuan", FAMILY(qwen2), 0},
    {"solar-open", FAMILY(qwen2), 0},
    {"grok-2", FAMILY(qwen2), 0},
    {"ufakzeka", FAMILY(ufakzeka), 0},
    {"qwen35", FAMILY(qwen35), PRE_NFC_OF_NAMESAKE},
    {"bailingmoe", FAMILY(bailingmoe), 0},
    {"bailingmoe2", FAMILY(bailingmoe), 0},
    {"llada-moe", FAMILY(bailingmoe), 0},
    {"seed-coder", FAMILY(seed_coder), 0},
    {"jais-2", FAMILY(jais2), 0},
    {"laguna", FAMILY(laguna), 0},
    {"exaone-moe", FAMILY(exaone_moe), 0},
    {"gpt-4o", FAMILY(gpt4o), 0},
    {"llama4", FAMILY(gpt4o), 0},
    {"kanana2", FAMILY(gpt4o), 0},
    {"talkie", FAMILY(gpt4o), 0},
    {"minimax-m2", FAMILY(gpt4o), 0},
    {"granite-embed-multi-97m", FAMILY(gpt4o), PRE_WHOLE_WORDS},
    {"tiny_aya", FAMILY(tiny_aya), 0},
    {"cohere2moe", FAMILY(tiny_aya), 0},
    {"tekken", FAMILY(tekken), PRE_ADD_BOS | PRE_WHOLE_WORDS},
    {"kimi-k2", FAMILY(kimi_k2), 0},
    {"youtu", FAMILY(youtu), PRE_WHOLE_WORDS},
    {"superbpe", FAMILY(superbpe), 0},
    {"deepseek-llm", FAMILY(deepseek_llm), 0},
    {"deepseek-coder", FAMILY(deepseek_coder), 0},
    {"deepseek-v3", FAMILY(deepseek_v3), 0},
    {"hunyuan-dense", FAMILY(deepseek_v3), 0},
    {"hy_v4", FAMILY(deepseek_v3), 0},
    {"spark2_5", FAMILY(spark25), 0},
    {"joyai-llm", FAMILY(deepseek_v3), 0},
    {"afmoe", FAMILY(afmoe), 0},
    {"bloom", FAMILY(bloom), 0},
    {"poro-chat", FAMILY(bloom), 0},
    {"gpt3-finnish", FAMILY(bloom), 0},
    {"viking", FAMILY(viking), 0},
    {"falcon", FAMILY(falcon), 0},
    {"chameleon", FAMILY(chameleon), PRE_ADD_BOS},
    {"sarvam-moe", FAMILY(lines), PRE_RAW},
    {"gemma4", FAMILY(lines), PRE_RAW},
    {"granite-embed-multi-311m", FAMILY(lines), PRE_RAW},
};

// Files made before the name was recorded: the architecture tells it.
static const struct {
    const char *architecture, *pre;
} architectures[] = {
    {"gptneox", "gpt-neox"}, {"gpt2", "gpt-2"}, {"phi2", "gpt-2"}, {"bloom", "bloom"}, {"mpt", "mpt"},
    {"falcon", "falcon"}, {"starcoder", "starcoder"}, {"starcoder2", "starcoder"}, {"refact", "refact"},
    {"command-r", "command-r"}, {"olmo", "olmo"}, {"qwen2", "qwen2"}, {"qwen2moe", "qwen2"}, {"qwen3", "qwen2"},
    {"codeshell", "codeshell"}, {"exaone", "exaone"}, {"dbrx", "dbrx"},
};
// clang-format on

const pre_row *pre_at(size_t i) { return i < std::size(rows) ? &rows[i] : nullptr; }

const pre_row *pre_find(std::string_view name) {
    for (const pre_row &row : rows)
        if (name == row.name) return &row;
    return nullptr;
}

const pre_row *pre_of_architecture(std::string_view architecture) {
    for (const auto &a : architectures)
        if (architecture == a.architecture) return pre_find(a.pre);
    return nullptr;
}

// note: qwen2 and mpt models have architectures of their own. A file of architecture llama that names one of them
// borrows the splitter; the expected ids there are not normalised. The same holds for qwen35, whose reference ids on
// Qwen3's vocabulary are of text in NFD: its own models' architectures all begin with the name.
bool normalizes_nfc(const pre_row *row, std::string_view architecture) {
    if (row->flags & PRE_NFC_OF_NAMESAKE) return architecture.substr(0, strlen(row->name)) == row->name;
    return row->flags & PRE_NFC || (row->flags & PRE_NFC_OF_FAMILY && architecture != "llama");
}

} // namespace llm
