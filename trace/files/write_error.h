#pragma once

#include <string>

#include "trace/error.h"

namespace pipetrace {

/// The error of a failed write, such as "cannot create out/a.json: No such file or directory;
/// create its folder first". `what` is the verb, `error` an errno.
Error writeError(const char* what, const std::string& path, int error);

}  // namespace pipetrace
