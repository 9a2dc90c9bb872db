#include "llm.h"

const char *llm_status_text(llm_status status) {
    switch (status) {
#define TEXT(name, value, text)                                                                                        \
    case name: return text;
        LLM_STATUS_LIST(TEXT)
#undef TEXT
    }
    return "unknown status";
}

#define LLM_TEXT_OF_(x) #x
#define LLM_TEXT_OF(x) LLM_TEXT_OF_(x)
const char *llm_version(void) { return LLM_TEXT_OF(LLM_VERSION_MAJOR) "." LLM_TEXT_OF(LLM_VERSION_MINOR) ".0"; }

const char *llm_finish_text(llm_finish finish) {
    static const char *const texts[] = {"eog", "stop", "limit", "context", "cancelled"};
    return (unsigned)finish < sizeof texts / sizeof *texts ? texts[finish] : "unknown";
}
