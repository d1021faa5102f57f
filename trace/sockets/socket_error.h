#pragma once

#include <string>

#include "trace/error.h"

namespace pipetrace {

/// What the system says of a socket.
class SocketError : public Error {
 public:
  /// `number`: of errno; 0 where there is none.
  SocketError(const std::string& text, int number) : Error(text), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace pipetrace
