#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace pipetrace::test {

/// CTest shows a group of cases that ends with it as skipped.
inline constexpr int kSkippedCode = 77;

/// Runs the tests of the program, and returns its exit code. Under CTest (PIPETRACE_SKIPPED_CODE is
/// set) it is kSkippedCode if a case was skipped and none failed.
inline int runTests() {
  const int code = RUN_ALL_TESTS();
  const bool wasSkipped = ::testing::UnitTest::GetInstance()->skipped_test_count() > 0;
  const bool isWanted = std::getenv("PIPETRACE_SKIPPED_CODE") != nullptr;
  return code == 0 && wasSkipped && isWanted ? kSkippedCode : code;
}

}  // namespace pipetrace::test
