#pragma once

#include <string>

#include "trace/error.h"

namespace pipetrace {

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
