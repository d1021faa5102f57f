#pragma once

namespace pipetrace::test {

/// Whether a sanitizer watches this build, which makes it several times as slow. A sanitizer checks
/// the code. So tests that draw many cases need only some of them here, and have all in other
/// builds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

/// The number of cases that this build draws where others draw `all`, or of those that are expected
/// among them.
template <typename Number>
constexpr Number drawn(Number all) {
  return kIsSanitized ? all / 4 : all;
}

}  // namespace pipetrace::test
