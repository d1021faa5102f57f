#include "trace/threads/in_parallel.h"

#include <algorithm>
#include <atomic>

#include "trace/threads/turns.h"

namespace pipetrace {

void inParallel(int threads, std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const std::size_t useful = std::min(static_cast<std::size_t>(threadCount(threads)), count);
  Turns::run(static_cast<int>(useful), [&](Turns&) {
    for (std::size_t i = 0; (i = next++) < count;) work(i);
  });
}

}  // namespace pipetrace
