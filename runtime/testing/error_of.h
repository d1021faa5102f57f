#pragma once

#include <functional>
#include <string>

#include "trace/error.h"

namespace pipetrace::testing {

/// The text of the Error that `body` throws; "" for none.
inline std::string errorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace pipetrace::testing
