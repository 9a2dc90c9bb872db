#include "model_path.h"
#include <algorithm>
#include <filesystem>
#include <stdlib.h>
#include <vector>

namespace fs = std::filesystem;

static const char default_model[] = "SmolLM2-135M-Instruct.Q4_1.gguf";
static const char bundled_prefix[] = "libllm-chat-";

static std::string environment(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static fs::path models_folder() {
    std::string named = environment("LLM_MODELS"), data = environment("XDG_DATA_HOME");
    if (!named.empty()) return named;
    if (!data.empty()) return fs::path(data) / "llm/models";
    return fs::path(environment("HOME")) / ".local/share/llm/models";
}

static fs::path first_bundled(const fs::path &folder) {
    std::error_code error;
    std::vector<fs::path> found;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
        std::string name = entry.path().filename().string();
        if (name.rfind(bundled_prefix, 0) == 0 && entry.path().extension() == ".gguf") found.push_back(entry.path());
    }
    return found.empty() ? fs::path() : *std::min_element(found.begin(), found.end());
}

static std::vector<fs::path> bundle_folders() {
    std::vector<fs::path> folders;
    std::error_code error;
    fs::path executable = fs::read_symlink("/proc/self/exe", error);
    if (!error) {
        folders.push_back(executable.parent_path().parent_path() / "share/llm");
        folders.push_back(executable.parent_path().parent_path() / "models"); // build/llm in the source tree
    }
#ifdef LLM_SOURCE_DIR
    folders.push_back(fs::path(LLM_SOURCE_DIR) / "models");
#endif
    return folders;
}

bool choose_model(const std::string &named, std::string &path, std::string &origin, std::string &sentence) {
    path = !named.empty() ? named : environment("LLM_MODEL");
    origin.clear();
    if (!path.empty()) return true;

    std::error_code error;
    fs::path fetched = models_folder() / default_model;
    if (fs::is_regular_file(fetched, error)) {
        path = fetched.string();
        origin = "default";
        return true;
    }
    for (const fs::path &folder : bundle_folders()) {
        path = first_bundled(folder).string();
        origin = "bundled";
        if (!path.empty()) return true;
    }
    sentence = "no model: name a GGUF file with -m (neither " + fetched.string() + " nor a bundled model is there)";
    return false;
}
