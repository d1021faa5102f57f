#pragma once

#include <exception>
#include <string>

namespace pipetrace {

/// The text of an error for users. LibTorch's what() has a backtrace, which this leaves out.
std::string errorText(const std::exception& error);
/// The same, of any exception: "unknown error" where it has no text. Not for null.
std::string errorText(const std::exception_ptr& error);
/// The first line of errorText(), for a sentence that goes on.
std::string firstLineOf(const std::exception& error);

}  // namespace pipetrace
