#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// A text as one word of a shell's command, quoted where the shell would read it otherwise.
std::string shellWord(std::string_view text);

}  // namespace pipetrace
