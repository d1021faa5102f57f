#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "profiler/clock_exchange.h"
#include "profiler/log_file.h"
#include "trace/log_writer.h"

namespace pipetrace {

/// Compares this host's clock with rank 0's, now and then again, and writes each comparison into a
/// rank's job log as a `Profiler Clock:` line, beside its recorder. To be opened after the
/// recorder, whose `Profiler Meta:` line begins the run, and closed before it.
class ClockComparison {
 public:
  static constexpr Nanoseconds kEvery = 30 * kNsPerSecond;

  /// Throws Error if the log cannot be opened. A server that does not answer for some seconds, or
  /// until the end, is said once, to stderr; it is asked again, first soon and then every `every`
  /// nanoseconds.
  ClockComparison(std::string logPath, std::string address, int port, ClockFunction now,
                  Nanoseconds every = kEvery);
  ~ClockComparison();
  ClockComparison(const ClockComparison&) = delete;
  ClockComparison& operator=(const ClockComparison&) = delete;

 private:
  void run();
  /// Whether there was an answer.
  bool compare(bool tellsFailure);

  const std::string address_;
  const int port_;
  const ClockFunction now_;
  const Nanoseconds every_;
  LogFile log_;
  LogWriter writer_;
  std::unique_ptr<ClockExchange> exchange_;
  bool saidSo_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pipetrace
