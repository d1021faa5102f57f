// The entry of all fuzzers: PIPETRACE_FUZZ_ENTRY is the function of targets.h that this one runs.
#include <cstddef>
#include <cstdint>
#include <string>

#include "parser/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pipetrace::fuzz::PIPETRACE_FUZZ_ENTRY(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
