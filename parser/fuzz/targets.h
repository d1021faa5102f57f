#pragma once

#include <map>
#include <string>

namespace pipetrace::fuzz {

/// A function that a fuzzer runs on its bytes, and the unit tests on a few seeds.
struct Target {
  /// Aborts when something does not hold that must hold for any input.
  void (*run)(const std::string& bytes);
  int damagedSeeds;  ///< how many damaged copies of each seed the tests run; databases take longest
};

/// All targets. The fuzzer of the target `name` is the program fuzz_<name>, and its seeds are
/// makeSeeds()[name].
const std::map<std::string, Target>& targets();

}  // namespace pipetrace::fuzz
