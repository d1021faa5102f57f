#pragma once

#include <stdexcept>
#include <string>

namespace pipetrace {

/// Could not do what was asked. The text says what failed, on what, and what to try. Caught once,
/// in main() (exit code 2) and in the viewer's loader.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace pipetrace
