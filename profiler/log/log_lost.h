#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "trace/error.h"
#include "trace/event.h"

namespace pipetrace {

/// A job log that could not be written to its end. It does not affect what the program does.
class LogLost : public Error {
 public:
  struct Loss {
    int rank = 0;
    std::int32_t step = kNotGiven;  ///< the first with a job that is missing; kNotGiven: no job is
    std::string why;                ///< "No space left on device"
  };

  LogLost(const std::string& text, Loss loss) : Error(text), loss_(std::move(loss)) {}

  const Loss& loss() const { return loss_; }

 private:
  Loss loss_;
};

}  // namespace pipetrace
