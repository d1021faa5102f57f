#pragma once

#include <string>

#include "trace/error.h"

namespace pipetrace {

/// The system cannot do what a socket was asked for.
class SocketError : public Error {
 public:
  /// `number`: of errno; 0 where there is none.
  SocketError(const std::string& text, int number) : Error(text), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace pipetrace
