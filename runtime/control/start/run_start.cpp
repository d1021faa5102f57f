#include "runtime/control/start/run_start.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/control/steady_time.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {

namespace {

constexpr const char* kFailed = "start/failed";
constexpr const char* kHeard = "start/heard";  // how many have heard of that
constexpr const char* kAllHeard = "start/all-heard";
// How often a rank that waits asks for what it waits for, and whether another has failed.
constexpr Nanoseconds kLongestPause = 64 * kNsPerMs;
constexpr Nanoseconds kCheckEvery = 200 * kNsPerMs;

}  // namespace

RunStart::RunStart(KeyValue& store, int rank, int worldSize, Nanoseconds timeout, Nanoseconds begun)
    : store_(store), rank_(rank), worldSize_(worldSize), timeout_(timeout), end_(begun + timeout) {}

Nanoseconds RunStart::left() const { return std::max<Nanoseconds>(end_ - steadyTime(), 0); }

std::string RunStart::await(const std::string& key, const Missing& missing) {
  Nanoseconds checked = steadyTime();
  for (Nanoseconds pause = kNsPerMs; !store_.has(key); pause = std::min(2 * pause, kLongestPause)) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause));
    if (steadyTime() - checked < kCheckEvery && left() > 0) continue;
    check(missing);
    checked = steadyTime();
  }
  return store_.get(key, kNsPerSecond);
}

void RunStart::check(const Missing& missing) {
  if (store_.has(kFailed)) end(store_.get(kFailed, kNsPerSecond));
  if (left() == 0) fail(missing() + " within " + formatDuration(timeout_));
}

void RunStart::fail(const std::string& text) { end(store_.setOnce(kFailed, text)); }

void RunStart::end(const std::string& text) {
  if (rank_ != 0) {
    if (store_.count(kHeard) == worldSize_ - 1) store_.set(kAllHeard, "yes");
    throw Error(text);
  }
  const Nanoseconds until = steadyTime() + kNsPerSecond;
  while (worldSize_ > 1 && steadyTime() < until && !store_.has(kAllHeard)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw Error(text);
}

}  // namespace pipetrace
