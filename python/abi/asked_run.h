#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/what_if/advice.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "parser/load_timeline.h"
#include "python/abi/json_options.h"
#include "python/abi/table.h"

namespace pipetrace {

/// How far work is. Others may look at it meanwhile.
struct WorkProgress {
  enum class Doing : std::uint8_t { kOther, kReading, kTrying };
  std::atomic<Doing> doing = Doing::kOther;
  LoadProgress reading;
  AdviceProgress trying;
};

/// An answer: a text, and what the command says besides.
struct Answer {
  std::string text;
  std::vector<std::string> remarks{};
};

/// A run that was read to be asked. Work on it is done by one thread at a time, which has the
/// mutex.
struct AskedRun {
  std::mutex mutex;
  LoadedRun loaded;
  JsonOptions reading;  ///< those of reading that are not inputs
  bool hasDoubts = false;
  std::map<std::string, std::shared_ptr<const Table>> tables{};
  bool hasLanes = false;  ///< of bubbles

  /// What says in a command which run it is.
  std::vector<std::string> words() const;
};

/// Reads a run. Throws Error.
std::shared_ptr<AskedRun> readRun(const char* options, WorkProgress& progress,
                                  const std::stop_token& stop);

/// The answer to a question of pipetrace_run.h. Throws Error. `run` and `other` may be null where
/// the question allows it; the caller has their mutexes.
Answer answer(const std::string& question, AskedRun* run, AskedRun* other, const char* options,
              WorkProgress& progress);

/// The table of that name. Throws Error. The caller has the mutex.
std::shared_ptr<const Table> tableOf(AskedRun& run, const std::string& name);

}  // namespace pipetrace
