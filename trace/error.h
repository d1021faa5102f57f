#pragma once

#include <stdexcept>
#include <string>

namespace pipetrace {

/// The program cannot do what it was asked to. The text says what failed, on what, and what to try.
/// Only main() (exit code 2) and the viewer's loader catch it.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace pipetrace
