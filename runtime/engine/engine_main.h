#pragma once

#include <functional>
#include <string>

#include "runtime/starting_ranks/stop_signal.h"
#include "trace/error.h"

namespace pipetrace {

/// The frame of a training program's main(): signals, memory that is used again, errors to standard
/// error, exit code. The code is 0: done, 2: failed, 128 + n: stopped by signal n. A
/// signal that has a training saved is that of all ranks (StoppedBySignal).
int engineMain(const std::function<void(StopSignal& stop)>& body);

/// A signal that some rank got has ended a training, which is saved (CheckpointOptions::onStop).
/// All ranks throw it.
class StoppedBySignal : public Error {
 public:
  StoppedBySignal(int signal, const std::string& text) : Error(text), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

}  // namespace pipetrace
