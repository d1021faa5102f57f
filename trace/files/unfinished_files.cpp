#include "trace/files/unfinished_files.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

namespace pipetrace {
namespace {

enum State { kFree, kFilling, kFilled };

// A signal handler may neither lock nor follow pointers that another thread frees. So slots stay
// where they are; further blocks of them are added and never freed.
struct Slot {
  std::atomic<int> state{kFree};
  char path[4096];
};
constexpr int kSlotsOfBlock = 16;
struct Block {
  std::array<Slot, kSlotsOfBlock> slots;
  std::atomic<Block*> next{nullptr};
};
Block firstBlock;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Block*>::is_always_lock_free);

pid_t owner = 0;

/// Calls `remove` for each path; whether any call returned 0.
template <typename Remove>
bool removeAll(Remove remove) {
  bool hasRemoved = false;
  for (Block* block = &firstBlock; block != nullptr; block = block->next.load()) {
    for (Slot& slot : block->slots) {
      if (slot.state.load() == kFilled && remove(slot.path) == 0) hasRemoved = true;
    }
  }
  return hasRemoved;
}

extern "C" void removeAndRaise(int signal) {
  // A forked child has the same slots, but the files are its parent's.
  if (::getpid() == owner) {
    removeAll(::unlink);
    while (removeAll(::rmdir)) {  // a folder is empty once the one in it is gone
    }
  }
  // SA_RESETHAND has put the default back; it acts when this handler returns.
  ::raise(signal);
}

Block& nextOf(Block& block) {
  Block* next = block.next.load();
  if (next != nullptr) return *next;
  Block* const made = new Block;
  if (block.next.compare_exchange_strong(next, made)) return *made;
  delete made;  // another thread was faster
  return *next;
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
  if (path.size() >= sizeof Slot::path) return -1;
  int index = 0;
  for (Block* block = &firstBlock;; block = &nextOf(*block)) {
    for (Slot& slot : block->slots) {
      int expected = kFree;
      if (slot.state.compare_exchange_strong(expected, kFilling)) {
        std::memcpy(slot.path, path.c_str(), path.size() + 1);
        slot.state.store(kFilled);
        return index;
      }
      ++index;
    }
  }
}

void forgetUnfinishedFile(int slot) {
  if (slot < 0) return;
  Block* block = &firstBlock;
  for (; slot >= kSlotsOfBlock; slot -= kSlotsOfBlock) block = block->next.load();
  block->slots[static_cast<std::size_t>(slot)].state.store(kFree);
}

}  // namespace pipetrace
