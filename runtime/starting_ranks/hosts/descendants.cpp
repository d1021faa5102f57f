#include "runtime/starting_ranks/hosts/descendants.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace pipetrace {
namespace {

constexpr int kMostRounds = 200;  // a process that is stuck in the system cannot be killed
constexpr std::chrono::milliseconds kPause{10};

/// The children that have not ended.
std::vector<pid_t> liveChildren() {
  std::vector<pid_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const pid_t pid = std::atoi(entry->path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream in(entry->path() / "stat");
    std::string stat;
    std::getline(in, stat);
    const std::size_t name = stat.rfind(") ");  // "17 (a name) S 3 …"
    if (name == std::string::npos) continue;
    std::istringstream rest(stat.substr(name + 2));
    char state = 'Z';
    pid_t parent = 0;
    rest >> state >> parent;
    if (parent == getpid() && state != 'Z' && state != 'X') children.push_back(pid);
  }
  return children;
}

}  // namespace

void adoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void killDescendants() {
  for (int i = 0; i < kMostRounds; ++i) {
    const std::vector<pid_t> children = liveChildren();
    if (children.empty()) return;
    for (const pid_t child : children) kill(child, SIGKILL);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace pipetrace
