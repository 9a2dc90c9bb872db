#define CATCH_CONFIG_RUNNER
#include "test.h"
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sys/stat.h>

static std::set<std::string> &left_out() {
    static std::set<std::string> names;
    return names;
}

static bool is_folder(const std::string &path) {
    struct stat s;
    return stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

std::string test_data() {
    const char *named = getenv("LLM_TEST_DATA");
    std::string folder = named && *named ? named : std::string(LLM_SOURCE_DIR) + "/../shared/data";
    return is_folder(folder) ? folder : "";
}

bool have_test_data(const std::string &folder) {
    std::string data = test_data();
    if (!data.empty() && is_folder(data + "/" + folder)) return true;
    left_out().insert(folder);
    return false;
}

int main(int argc, char **argv) {
    int result = Catch::Session().run(argc, argv);
    for (const std::string &name : left_out())
        fprintf(stderr, "NOT TESTED: conformance data \"%s\" is not there (LLM_TEST_DATA, default ../shared/data)\n",
                name.c_str());
    return result;
}
