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

/// Has malloc keep freed memory for the next tensors. Otherwise each large tensor is memory that
/// the system maps, clears and unmaps, which costs a pipeline of small stages 5 to 15 % of a step.
/// The process then keeps the most memory that it ever had. Call it first thing in main(). It does
/// nothing where malloc is not glibc's.
void reuseFreedMemory();

}  // namespace pipetrace
