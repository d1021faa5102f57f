#include "runtime/starting_ranks/stop_signal.h"

#include <csignal>
#include <cstring>
#include <utility>

namespace pipetrace {

namespace {

sigset_t stopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  // Under nohup it is ignored.
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

// Dies of the signal, so that the parent process sees which one it was.
void dieOf(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  std::raise(signal);
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t set = stopSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { run(); });
}

StopSignal::~StopSignal() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  pthread_kill(thread_.native_handle(), SIGTERM);  // wakes its sigwait()
  thread_.join();
  const sigset_t set = stopSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void StopSignal::onStop(std::function<void(const std::string&)> callback) {
  const std::lock_guard lock(mutex_);
  callback_ = std::move(callback);
}

int StopSignal::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

void StopSignal::run() {
  const sigset_t set = stopSignals();
  while (true) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    take(signal);
  }
}

void StopSignal::take(int signal) {
  const bool first = std::exchange(received_, signal) == 0;
  if (!first || !callback_) {
    dieOf(signal);
    return;
  }
  callback_(std::string("stopped by SIG") + sigabbrev_np(signal));
}

}  // namespace pipetrace
