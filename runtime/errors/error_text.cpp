#include "runtime/errors/error_text.h"

#include <c10/util/Exception.h>

namespace pipetrace {

std::string errorText(const std::exception& error) {
  const auto* ofTorch = dynamic_cast<const c10::Error*>(&error);
  return ofTorch != nullptr ? ofTorch->what_without_backtrace() : error.what();
}

std::string errorText(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return errorText(e);
  } catch (...) {
    return "unknown error";
  }
}

std::string firstLineOf(const std::exception& error) {
  const std::string text = errorText(error);
  return text.substr(0, text.find('\n'));
}

}  // namespace pipetrace
