#include "runtime/control/local_control.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/control/run_end.h"
#include "runtime/control/steady_time.h"
#include "runtime/control/verdict/find_stall.h"
#include "runtime/control/verdict/idle_watch.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

constexpr Nanoseconds kRound = 50 * kNsPerMs;

// The ranks of one process share it. A cause is final at once: all see it in the same order. Only
// a lost connection waits for a better one.
class LocalRun {
 public:
  explicit LocalRun(std::vector<ControlOptions> options)
      : options_(std::move(options)), watches_(options_.size(), IdleWatch(steadyTime())) {
    for (const ControlOptions& one : options_) ends_.push_back(std::make_unique<RunEnd>(one));
    progress_.resize(options_.size());
    finishing_.resize(options_.size(), false);
    last_.resize(options_.size());
    isThere_.resize(options_.size(), true);
  }
  ~LocalRun() {
    {
      const std::lock_guard lock(mutex_);
      isOver_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;

  void join(int rank, const ActionProgress& progress, std::atomic<bool>& hasFailed) {
    progress_[static_cast<std::size_t>(rank)] = {&progress, &hasFailed};
  }
  void start() {
    thread_ = std::thread([this] { run(); });
  }

  RunEnd& end(int rank) { return *ends_[static_cast<std::size_t>(rank)]; }

  void fail(int rank, CauseKind kind, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (cause_) return;
    FailureCause cause;
    cause.kind = kind;
    cause.rank = rank;
    cause.status = statusOf(static_cast<std::size_t>(rank), steadyTime());
    cause.reason = reason;
    decide(std::move(cause));
  }

  void lostPeer(int rank, const std::string& reason) {
    {
      std::unique_lock lock(mutex_);
      const auto wait = std::chrono::nanoseconds(options_[0].limits.lostPeer);
      changed_.wait_for(lock, wait, [&] { return cause_.has_value(); });
    }
    fail(rank, CauseKind::kLostPeer, reason);
  }

  void finish(int rank) {
    const std::lock_guard lock(mutex_);
    finishing_[static_cast<std::size_t>(rank)] = true;
    for (const bool one : finishing_) {
      if (!one) return;
    }
    for (const auto& end : ends_) end->finish();
  }

  // The rank's progress and flag go.
  void leave(int rank) {
    const auto i = static_cast<std::size_t>(rank);
    bool hasFinished = false;
    {
      const std::lock_guard lock(mutex_);
      hasFinished = finishing_[i];
    }
    if (!hasFinished) {
      fail(rank, CauseKind::kFailed, "it ended its work without finishing the run");
    }
    end(rank).acknowledge();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !isDelivering_; });
    last_[i] = statusOf(i, steadyTime());
    isThere_[i] = false;
  }

 private:
  struct Member {
    const ActionProgress* progress = nullptr;
    std::atomic<bool>* hasFailed = nullptr;
  };

  // With the lock held.
  ActionStatus statusOf(std::size_t rank, Nanoseconds now) {
    ActionStatus status = last_[rank];
    if (isThere_[rank]) status = watches_[rank].look(*progress_[rank].progress, now);
    status.finishing = finishing_[rank];
    return status;
  }

  // With the lock held. Delivery is the thread's work: it calls what the user gave.
  void decide(FailureCause cause) {
    cause_ = std::move(cause);
    changed_.notify_all();
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (Nanoseconds last = steadyTime(); !isOver_;) {
      changed_.wait_for(lock, std::chrono::nanoseconds(kRound),
                        [&] { return isOver_ || (cause_ && !hasDelivered_); });
      const Nanoseconds now = steadyTime();
      const Nanoseconds slept = now - std::exchange(last, now) - kRound;
      if (slept > kLongPause) this->slept(slept, now);
      if (!cause_) lookForStall(now);
      if (!cause_) continue;
      std::vector<ActionStatus> statuses;
      for (std::size_t rank = 0; rank < options_.size(); ++rank) {
        statuses.push_back(statusOf(rank, now));
      }
      if (!std::exchange(hasDelivered_, true)) deliver(lock, statuses, now);
      std::vector<Nanoseconds> longestJobs;  // others look at the watches when they leave
      for (const IdleWatch& watch : watches_) longestJobs.push_back(watch.longestJob());
      lock.unlock();
      for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
        ends_[rank]->exitIfStuck(now, longestJobs[rank]);
      }
      lock.lock();
    }
  }

  // With the lock held.
  void slept(Nanoseconds time, Nanoseconds now) {
    for (IdleWatch& watch : watches_) watch.slept(time, now);
    stalls_.slept(time, now);
  }

  void lookForStall(Nanoseconds now) {
    std::vector<RankView> views(options_.size());
    for (std::size_t rank = 0; rank < views.size(); ++rank) {
      views[rank].status = statusOf(rank, now);
    }
    if (auto cause = stalls_.look(views, options_[0].limits.stall, options_[0].words, now)) {
      decide(std::move(*cause));
    }
  }

  // Ranks that leave wait meanwhile: what onFailure uses may go with them.
  void deliver(std::unique_lock<std::mutex>& lock, const std::vector<ActionStatus>& statuses,
               Nanoseconds now) {
    isDelivering_ = true;
    const std::vector<bool> isThere = isThere_;
    lock.unlock();
    for (std::size_t rank = 0; rank < options_.size(); ++rank) {
      if (!isThere[rank]) continue;
      progress_[rank].hasFailed->store(true, std::memory_order_release);
      FailureCause cause = *cause_;
      if (cause.kind == CauseKind::kStopped) cause.rank = static_cast<int>(rank);  // one process
      ends_[rank]->fail(cause, statuses[rank], now);
    }
    lock.lock();
    isDelivering_ = false;
    changed_.notify_all();
  }

  const std::vector<ControlOptions> options_;
  std::vector<std::unique_ptr<RunEnd>> ends_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<IdleWatch> watches_;
  StallWatch stalls_;
  std::vector<Member> progress_;
  std::vector<bool> finishing_;
  std::vector<ActionStatus> last_;  // of ranks that have left
  std::vector<bool> isThere_;
  std::optional<FailureCause> cause_;
  bool hasDelivered_ = false;
  bool isDelivering_ = false;
  bool isOver_ = false;
  std::thread thread_;
};

class LocalControl final : public ControlChannel {
 public:
  LocalControl(int rank, std::shared_ptr<LocalRun> run) : rank_(rank), run_(std::move(run)) {
    run_->join(rank, progress_, hasFailed_);
  }
  ~LocalControl() override { run_->leave(rank_); }

  std::string fail(const std::string& reason) override {
    run_->fail(rank_, CauseKind::kFailed, reason);
    return run_->end(rank_).awaitFailure(reason);
  }
  void whileEnding(const std::function<void()>& body) override {
    run_->end(rank_).whileEnding(steadyTime(), body);
  }
  std::string lostPeer(const std::string& reason) override {
    run_->lostPeer(rank_, reason);
    return run_->end(rank_).awaitFailure(reason);
  }
  void stop(const std::string& reason) override { run_->fail(rank_, CauseKind::kStopped, reason); }
  void finish() override {
    run_->finish(rank_);
    run_->end(rank_).awaitFinish();
  }

 private:
  [[noreturn]] void raise() override { throw Error(run_->end(rank_).awaitFailure()); }

  const int rank_;
  const std::shared_ptr<LocalRun> run_;
};

}  // namespace

std::vector<std::unique_ptr<ControlChannel>> makeLocalControl(std::vector<ControlOptions> options) {
  const auto run = std::make_shared<LocalRun>(options);
  std::vector<std::unique_ptr<ControlChannel>> channels;
  for (const ControlOptions& one : options) {
    channels.push_back(std::make_unique<LocalControl>(one.rank, run));
  }
  run->start();
  return channels;
}

}  // namespace pipetrace
