#include "profiler/process/in_forked_child.h"

#include <pthread.h>

#include <mutex>
#include <utility>

namespace pipetrace {
namespace {

// The handlers of fork() belong to the process, and so does this list.
constinit std::mutex mutex;
constinit InForkedChild* first = nullptr;

}  // namespace

InForkedChild::InForkedChild(std::function<void()> action) : action_(std::move(action)) {
  static const int registered = pthread_atfork(prepare, goOn, runAll);
  static_cast<void>(registered);  // without memory for it a child gets no action
  const std::lock_guard lock(mutex);
  next_ = std::exchange(first, this);
  if (next_ != nullptr) next_->previous_ = this;
}

InForkedChild::~InForkedChild() {
  const std::lock_guard lock(mutex);
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : first) = next_;
}

// Locked over the fork, so that the list is whole in the child.
void InForkedChild::prepare() noexcept { mutex.lock(); }

void InForkedChild::goOn() noexcept { mutex.unlock(); }

void InForkedChild::runAll() noexcept {
  for (InForkedChild* each = first; each != nullptr; each = each->next_) {
    if (!std::exchange(each->hasRun_, true)) each->action_();
  }
  mutex.unlock();
}

}  // namespace pipetrace
