#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace pipetrace::testing {

/// How a training of four processes ended, of which one was killed or stopped.
struct TrainingEnd {
  std::vector<std::string> outputs;    ///< by rank
  std::chrono::milliseconds after{0};  ///< from the fault until the last survivor had ended
};

struct Fault {
  int rank = 0;
  int signal = 0;
  std::chrono::milliseconds delay{0};  ///< after all ranks train
};

/// Trains a small model until `fault` happens to a rank. Its job logs go to `folder`. `launched`:
/// pipe-run starts the ranks; else nobody ends ranks but themselves.
TrainingEnd trainUntil(const Fault& fault, const std::string& folder, bool launched,
                       const std::vector<std::string>& options = {});

}  // namespace pipetrace::testing
