#include "core/cgroup.h"
#include "core/file.h"
#include <algorithm>
#include <stdlib.h>
#include <vector>

namespace llm {

namespace {

std::vector<std::string> split(const std::string &text, char by) {
    std::vector<std::string> parts;
    for (size_t at = 0, end; at <= text.size(); at = end + 1) {
        end = std::min(text.find(by, at), text.size());
        parts.push_back(text.substr(at, end - at));
    }
    return parts;
}

bool contains(const std::vector<std::string> &list, const std::string &wanted) {
    return std::find(list.begin(), list.end(), wanted) != list.end();
}

// One hierarchy of groups as it is mounted.
struct mount {
    std::string root, point; // `root` of the hierarchy appears at `point`
    bool unified;            // version 2
};

// "36 35 98:0 /root /point options [tags] - type source super,options"
bool find_mount(const std::string &root, const std::string &controller, bool unified, mount *out) {
    for (const std::string &line : split(file_small_text(root + "/proc/self/mountinfo"), '\n')) {
        size_t dash = line.find(" - ");
        if (dash == std::string::npos) continue;
        std::vector<std::string> left = split(line.substr(0, dash), ' '), right = split(line.substr(dash + 3), ' ');
        if (left.size() < 5 || right.size() < 3) continue;
        bool fits =
            unified ? right[0] == "cgroup2" : right[0] == "cgroup" && contains(split(right[2], ','), controller);
        if (!fits) continue;
        *out = {left[3], left[4], unified};
        return true;
    }
    return false;
}

// The process's own group: "4:cpu,cpuacct:/some/where", version 2 "0::/some/where".
std::string own_path(const std::string &root, const std::string &controller, bool unified) {
    for (const std::string &line : split(file_small_text(root + "/proc/self/cgroup"), '\n')) {
        size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        std::string names = line.substr(first + 1, second - first - 1);
        if (unified ? names.empty() : contains(split(names, ','), controller)) return line.substr(second + 1);
    }
    return "/";
}

// The group's path below the mount point. Inside a container the hierarchy is often mounted from the container's own
// group on, and the path still counts from the machine's top; or it is not visible at all, then the top is what counts.
std::string below_mount(const mount &m, const std::string &path) {
    if (m.root == "/") return path;
    if (path.compare(0, m.root.size(), m.root) == 0) return path.substr(m.root.size());
    return "";
}

// Folders of the process's own group and of all above it, the own one first.
std::vector<std::string> group_folders(const std::string &root, const mount &m, const std::string &controller) {
    std::string path = below_mount(m, own_path(root, controller, m.unified));
    if (path.find("..") != std::string::npos) path.clear();
    std::vector<std::string> folders;
    for (;;) {
        while (!path.empty() && path.back() == '/') path.pop_back();
        folders.push_back(root + m.point + path);
        if (path.empty()) return folders;
        path.erase(path.rfind('/'));
    }
}

// Calls look(folder, unified) for every group that may limit `controller`, in both versions: in a hybrid set-up a
// controller is in one of them, and the other has no such files.
template <class Look> void for_each_group(const std::string &root, const std::string &controller, Look look) {
    for (bool unified : {true, false}) {
        mount m;
        if (!find_mount(root, controller, unified, &m)) continue;
        for (const std::string &folder : group_folders(root, m, controller)) look(folder, unified);
    }
}

double quota_of(const std::string &folder, bool unified) {
    double limit = 0, period = 0;
    if (unified) {
        std::vector<std::string> words = split(file_small_text(folder + "/cpu.max"), ' ');
        if (words.size() < 2) return 0;
        limit = atof(words[0].c_str()); // "max": 0
        period = atof(words[1].c_str());
    } else {
        limit = atof(file_small_text(folder + "/cpu.cfs_quota_us").c_str());
        period = atof(file_small_text(folder + "/cpu.cfs_period_us").c_str());
    }
    return limit > 0 && period > 0 ? limit / period : 0;
}

// false when the file is not there or says "max".
bool read_bytes(const std::string &path, uint64_t *out) {
    std::string text = file_small_text(path);
    if (text.empty() || text[0] < '0' || text[0] > '9') return false;
    *out = strtoull(text.c_str(), nullptr, 10);
    return true;
}

uint64_t statistic(const std::string &path, const std::string &name) {
    for (const std::string &line : split(file_small_text(path), '\n'))
        if (line.compare(0, name.size() + 1, name + " ") == 0) return strtoull(line.c_str() + name.size(), nullptr, 10);
    return 0;
}

// Page cache counts as taken until the group is short of memory; the part not used lately goes first and costs nothing.
uint64_t memory_left_in(const std::string &folder, bool unified) {
    uint64_t limit, taken;
    if (!read_bytes(folder + (unified ? "/memory.max" : "/memory.limit_in_bytes"), &limit)) return UINT64_MAX;
    if (!read_bytes(folder + (unified ? "/memory.current" : "/memory.usage_in_bytes"), &taken)) return UINT64_MAX;
    uint64_t cache = statistic(folder + "/memory.stat", unified ? "inactive_file" : "total_inactive_file");
    taken -= std::min(taken, cache);
    return limit > taken ? limit - taken : 0;
}

} // namespace

double cgroup_processor_quota(const std::string &root) {
    double least = 0;
    for_each_group(root, "cpu", [&](const std::string &folder, bool unified) {
        double quota = quota_of(folder, unified);
        if (quota > 0 && (least == 0 || quota < least)) least = quota;
    });
    return least;
}

uint64_t cgroup_memory_left(const std::string &root) {
    uint64_t least = UINT64_MAX;
    for_each_group(root, "memory", [&](const std::string &folder, bool unified) {
        least = std::min(least, memory_left_in(folder, unified));
    });
    return least;
}

} // namespace llm
