#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace pipetrace {

/// Turns the first SIGTERM, SIGINT or SIGHUP into a call, so that a program can close its log. The
/// second one ends the program as usual; so does the first while no callback is set. Under nohup
/// SIGHUP stays ignored.
///
/// Make it first thing in main(). It blocks the signals in the calling thread and in those that
/// this one starts, and takes them on a thread of its own. One per process.
class StopSignal {
 public:
  StopSignal();
  /// Ends the thread and unblocks the signals.
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// `callback` gets the reason ("stopped by SIGTERM") on the signal thread; an empty one is none.
  /// When this returns, the callback set before is not running and will not run.
  void onStop(std::function<void(const std::string& reason)> callback);

  /// The signal that came, 0 for none. Any thread.
  int received() const;

 private:
  void run();
  void take(int signal);

  mutable std::mutex mutex_;
  std::function<void(const std::string&)> callback_;
  int received_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

/// The callback of a signal, for as long as this lives.
class StopCallback {
 public:
  /// The first signal that comes later does this.
  enum class Later {
    kEndsProgram,
    kNothing,  ///< the program is about to end, and has yet to close what it opened and to say why
  };

  /// `stop` must outlive it; null: there is none.
  StopCallback(StopSignal* stop, std::function<void(const std::string& reason)> callback,
               Later later = Later::kEndsProgram)
      : stop_(stop), later_(later) {
    if (stop_ != nullptr) stop_->onStop(std::move(callback));
  }
  ~StopCallback() {
    if (stop_ == nullptr) return;
    if (later_ == Later::kNothing) {
      stop_->onStop([](const std::string&) {});
    } else {
      stop_->onStop({});
    }
  }
  StopCallback(const StopCallback&) = delete;
  StopCallback& operator=(const StopCallback&) = delete;

 private:
  StopSignal* const stop_;
  const Later later_;
};

}  // namespace pipetrace
