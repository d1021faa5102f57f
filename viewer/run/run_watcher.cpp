#include "viewer/run/run_watcher.h"

#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "ingest/run_follower.h"
#include "parser/reader_registry.h"
#include "trace/append.h"

namespace pipetrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks{100};
/// Looking for new files costs more than looking for new lines.
constexpr int kLooksBetweenSearches = 10;
/// Logs of ranks that start together appear within this number of looks.
constexpr int kLooksBeforeWaiting = 14;
/// Making a profile is followed by a pause of this many times its duration.
constexpr int kPause = 2;

/// The calling thread, and those that it starts, give way to the window's thread. On Linux the
/// priority is a thread's own.
void yieldToTheWindow() {
  constexpr int kNice = 10;
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
}

}  // namespace

/// The state that the two threads share.
struct RunWatcher::Shared {
  using Profile = std::shared_ptr<const LoadedProfile>;

  std::mutex mutex;
  std::condition_variable changed;
  bool isStopped = false;
  Profile newest;            // not taken yet
  std::vector<Profile> old;  // to be freed

  /// Waits for the next look, and frees old profiles. Returns false when it is to stop.
  bool pause() {
    std::vector<Profile> freed;  // after the lock
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kBetweenLooks, [this] { return isStopped; });
    freed.swap(old);
    return !isStopped;
  }
  bool isTaken() {
    const std::lock_guard lock(mutex);
    return newest == nullptr;
  }
  /// Replaces a profile that was not taken. Returns whether there was none.
  bool publish(Profile profile) {
    const std::lock_guard lock(mutex);
    newest.swap(profile);
    return profile == nullptr;
  }
};

/// Calls functions on the GUI thread.
class RunWatcher::Voice {
 public:
  Voice(RunWatcher& watcher, std::shared_ptr<Shared> shared)
      : watcher_(watcher), shared_(std::move(shared)) {}
  /// Calls `what` there, unless this run is followed no more by then.
  template <typename What>
  void say(What what) const {
    QMetaObject::invokeMethod(&watcher_, [watcher = &watcher_, shared = shared_, what] {
      if (shared == watcher->shared_) what(*watcher);
    });
  }

 private:
  RunWatcher& watcher_;
  std::shared_ptr<Shared> shared_;
};

/// The work of the thread.
class RunWatcher::Watch {
 public:
  Watch(Shared& shared, const Voice& voice, const RunRequest& request)
      : shared_(shared),
        voice_(voice),
        request_(request),
        follower_(request, [this](const Timeline& steps) { add(steps); }) {}

  void run() {
    yieldToTheWindow();
    do look();
    while (!follower_.isOver() && shared_.pause());
    follower_.finish();
    report();
    if (hasNew_) publish();
    voice_.say([](RunWatcher& watcher) { emit watcher.ended({}); });
    explain();
  }

 private:
  void look() {
    if (++looks_ % kLooksBetweenSearches == 0) {
      follower_.findNewLogs();
      follower_.lookAtRecorders();
    }
    follower_.look();
    report();
    if (hasNew_ && Clock::now() >= due_ && shared_.isTaken()) publish();
  }

  void add(Timeline steps) {
    for (CounterSeries& series : std::exchange(steps.counters, {})) addSamples(std::move(series));
    whole_.ranks = std::move(steps.ranks);
    append(std::move(steps), whole_);
    hasNew_ = true;
  }

  void addSamples(CounterSeries series) {
    for (CounterSeries& known : whole_.counters) {
      if (known.rank == series.rank && known.name == series.name) {
        return append(std::move(series.samples), known.samples);
      }
    }
    whole_.counters.push_back(std::move(series));
  }

  void report() {
    if (Diagnostics found = follower_.takeDiagnostics(); !found.empty()) {
      for (const Diagnostic& one : found.list()) diagnostics_.add(one);
      hasNew_ = hasNew_ || whole_.eventCount() > 0;
    }
    const std::string waits = looks_ < kLooksBeforeWaiting ? "" : follower_.waitsFor();
    if (waits == waits_) return;
    waits_ = waits;
    voice_.say([text = QString::fromStdString(waits)](RunWatcher& watcher) {
      emit watcher.waitsFor(text);
    });
  }

  void publish() {
    const auto begin = Clock::now();
    whole_.sort();
    auto profile = std::make_shared<LoadedProfile>(
        profileName(request_.inputs), Run(whole_, request_.reading.threads), diagnostics_, true);
    profile->cameFrom(request_.inputs);
    last_ = std::move(profile);
    const bool isFirst = shared_.publish(last_);
    if (isFirst) voice_.say([](RunWatcher& watcher) { emit watcher.grew(); });
    hasNew_ = false;
    const auto end = Clock::now();
    due_ = end + kPause * (end - begin);
  }

  void explain() {
    if (!last_) return;
    std::shared_ptr<const Explanation> explanation;
    try {
      explanation = std::make_shared<const Explanation>(last_->run(), ExplainOptions{});
    } catch (const std::exception&) {
      return;  // the run is shown all the same
    }
    voice_.say([explanation](RunWatcher& watcher) { emit watcher.explained(explanation); });
  }

  Shared& shared_;
  const Voice& voice_;
  const RunRequest& request_;
  Timeline whole_;
  Shared::Profile last_;
  bool hasNew_ = false;
  Diagnostics diagnostics_;
  std::string waits_;
  int looks_ = 0;
  Clock::time_point due_{};
  RunFollower follower_;
};

RunWatcher::RunWatcher(QObject* parent) : QObject(parent) {}

RunWatcher::~RunWatcher() { stop(); }

void RunWatcher::stop() {
  if (!thread_) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->isStopped = true;
  }
  shared_->changed.notify_all();
  thread_->wait();
  thread_.reset();
  shared_.reset();  // what the thread has still to say concerns nobody
}

std::shared_ptr<const LoadedProfile> RunWatcher::take() {
  if (!shared_) return nullptr;
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->newest, nullptr);
}

void RunWatcher::giveBack(std::shared_ptr<const LoadedProfile> profile) {
  if (!shared_) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->old.push_back(std::move(profile));
}

void RunWatcher::start(const RunRequest& request) {
  checkFollowable(request.inputs, makeTraceReaders());
  stop();
  shared_ = std::make_shared<Shared>();
  thread_.reset(QThread::create([shared = shared_, voice = Voice(*this, shared_), request] {
    try {
      Watch(*shared, voice, request).run();
    } catch (const std::exception& e) {
      voice.say([error = QString::fromUtf8(e.what())](RunWatcher& watcher) {
        emit watcher.ended(error);
      });
    }
  }));
  thread_->start();
}

}  // namespace pipetrace
