#include "trace/files/unfinished_files.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace pipetrace {
namespace {

enum State { kFree, kFilling, kFilled };

// Fixed memory, as a signal handler may neither lock nor follow pointers that are being freed.
struct Slot {
  std::atomic<int> state{kFree};
  char path[4096];
};
Slot slots[16];
static_assert(std::atomic<int>::is_always_lock_free);

pid_t owner = 0;

extern "C" void removeAndRaise(int signal) {
  // A forked child has the same slots, but the files are its parent's.
  if (::getpid() == owner) {
    for (Slot& slot : slots) {
      if (slot.state.load() == kFilled) ::unlink(slot.path);
    }
  }
  // SA_RESETHAND has put the default back; it acts when this handler returns.
  ::raise(signal);
}

}  // namespace

void removeUnfinishedFilesOnSignals() {
  owner = ::getpid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = removeAndRaise;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigfillset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

int rememberUnfinishedFile(const std::string& path) {
  int index = 0;
  for (Slot& slot : slots) {
    int expected = kFree;
    if (path.size() < sizeof slot.path && slot.state.compare_exchange_strong(expected, kFilling)) {
      std::memcpy(slot.path, path.c_str(), path.size() + 1);
      slot.state.store(kFilled);
      return index;
    }
    ++index;
  }
  return -1;
}

void forgetUnfinishedFile(int slot) {
  if (slot >= 0) slots[slot].state.store(kFree);
}

}  // namespace pipetrace
