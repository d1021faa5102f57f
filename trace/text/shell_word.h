#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// A text as one word of a shell's command, quoted where the shell would read it otherwise.
std::string shellWord(std::string_view text);

/// The same for commands that people copy from a terminal: characters that fitInLine() would
/// replace are escapes in `$'…'`, which bash, zsh and ksh read.
std::string printedShellWord(std::string_view text);

}  // namespace pipetrace
