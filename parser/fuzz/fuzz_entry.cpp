// The entry of all fuzzers: PIPETRACE_FUZZ_TARGET is the name of the target that this one runs.
#include <cstddef>
#include <cstdint>
#include <string>

#include "parser/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto run = pipetrace::fuzz::targets().at(PIPETRACE_FUZZ_TARGET).run;
  run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
