#include "runtime/lanes/event_count.h"

namespace pipetrace {

void EventCount::stop() noexcept {
  stopped_.store(true);
  rings_.fetch_add(1);
  rings_.notify_all();
}

void EventCount::wake() noexcept {
  wakeUps_.fetch_add(1, std::memory_order_relaxed);
  rings_.fetch_add(1);
  rings_.notify_all();
}

}  // namespace pipetrace
