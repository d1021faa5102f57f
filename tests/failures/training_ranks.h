#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace pipetrace::testing {

/// How a training of four processes ended, of which one got a signal.
struct TrainingEnd {
  std::vector<std::string> outputs;    ///< by rank
  std::chrono::milliseconds after{0};  ///< from the fault until the last survivor had ended
};

struct Fault {
  int rank = 0;
  int signal = 0;
};

/// Trains a small model until `fault` happens to a rank, as soon as all ranks train. Its job logs
/// go to `folder`. Nobody ends ranks but themselves.
TrainingEnd trainUntil(const Fault& fault, const std::string& folder,
                       const std::vector<std::string>& options = {});

}  // namespace pipetrace::testing
