#include "runtime/session/log_losses.h"

#include <algorithm>

#include "trace/text/ranks_text.h"

namespace pipetrace {

void LogLosses::add(const LogLost::Loss& loss) {
  const std::lock_guard lock(mutex_);
  if (ranks_.empty()) why_ = loss.why;
  ranks_.insert(loss.rank);
  if (loss.step != kNotGiven) step_ = step_ == kNotGiven ? loss.step : std::min(step_, loss.step);
}

std::string LogLosses::text() const {
  const std::lock_guard lock(mutex_);
  if (ranks_.empty()) return {};
  const bool isOne = ranks_.size() == 1;
  return std::string(isOne ? "the job log of " : "the job logs of ") +
         ranksText({ranks_.begin(), ranks_.end()}) + (isOne ? " is" : " are") + " incomplete" +
         (step_ == kNotGiven ? "" : " from step " + std::to_string(step_) + " on") + ": " + why_;
}

}  // namespace pipetrace
