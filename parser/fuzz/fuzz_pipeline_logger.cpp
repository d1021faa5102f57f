#include <cstddef>
#include <cstdint>
#include <string>

#include "parser/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pipetrace::fuzz::readAsPipelineLogger(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
