#include "runtime/errors/error_text.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <stdexcept>

namespace pipetrace {
namespace {

std::exception_ptr pointerTo(const auto& error) { return std::make_exception_ptr(error); }

TEST(ErrorText, LibTorchsErrorsHaveNoBacktrace) {
  try {
    TORCH_CHECK(false, "no room\nfor it");
  } catch (const c10::Error& e) {
    EXPECT_EQ(errorText(e), "no room\nfor it");
    EXPECT_EQ(firstLineOf(e), "no room");
    EXPECT_EQ(errorText(std::current_exception()), "no room\nfor it");
  }
}

TEST(ErrorText, AnyOtherExceptionHasItsOwnTextOrNone) {
  EXPECT_EQ(errorText(std::runtime_error("one\ntwo")), "one\ntwo");
  EXPECT_EQ(firstLineOf(std::runtime_error("one\ntwo")), "one");
  EXPECT_EQ(errorText(pointerTo(std::runtime_error("one"))), "one");
  EXPECT_EQ(errorText(pointerTo(7)), "unknown error");
}

}  // namespace
}  // namespace pipetrace
