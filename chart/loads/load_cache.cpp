#include "chart/loads/load_cache.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace pipetrace {

struct LoadCache::Work {
  using Lanes = std::vector<const LaneIndex*>;

  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  /// Stops the thread.
  ~Work() {
    if (!thread.joinable()) return;
    {
      const std::scoped_lock lock(mutex);
      isStopped = true;
    }
    changed.notify_all();
    thread.join();
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return isStopped || !asked.empty(); });
      if (isStopped) return;
      const auto [key, lanes] = std::move(asked.front());
      asked.pop_front();
      isBusy = true;
      lock.unlock();
      auto made = std::make_shared<const LoadSums>(lanes, isStopped);
      lock.lock();
      isBusy = false;
      sums[key] = std::move(made);
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<const LoadSums>> sums;  // null: asked for
  std::deque<std::pair<std::string, Lanes>> asked;
  bool isBusy = false;
  std::atomic<bool> isStopped = false;
  std::thread thread;  // runs from the first question on
};

LoadCache::LoadCache() : work_(std::make_unique<Work>()) {}
LoadCache::LoadCache(LoadCache&&) noexcept = default;
LoadCache& LoadCache::operator=(LoadCache&&) noexcept = default;

LoadCache::~LoadCache() = default;

std::shared_ptr<const LoadSums> LoadCache::find(const std::string& key,
                                                const std::vector<const LaneIndex*>& lanes) const {
  const std::scoped_lock lock(work_->mutex);
  const auto [at, isNew] = work_->sums.try_emplace(key);
  if (isNew) {
    work_->asked.emplace_back(key, lanes);
    if (!work_->thread.joinable())
      work_->thread = std::thread([work = work_.get()] { work->run(); });
    work_->changed.notify_all();
  }
  return at->second;
}

void LoadCache::wait() const {
  std::unique_lock lock(work_->mutex);
  work_->changed.wait(lock, [&] { return work_->asked.empty() && !work_->isBusy; });
}

}  // namespace pipetrace
