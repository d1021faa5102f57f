#include "runtime/engine/say.h"

#include <cstdio>

namespace pipetrace {
namespace {

// One call, so that lines of several threads do not mix.
void say(std::FILE* stream, std::string_view line) noexcept {
  std::fprintf(stream, "%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(stream);
}

}  // namespace

void sayOnStderr(std::string_view line) noexcept { say(stderr, line); }
void sayOnStdout(std::string_view line) noexcept { say(stdout, line); }

}  // namespace pipetrace
