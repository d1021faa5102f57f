#include "runtime/starting_ranks/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "trace/error.h"

namespace pipetrace {
namespace {

/// Why the file cannot be run, as an errno; 0: it can.
int whyNot(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode) || eaccess(file.c_str(), X_OK) != 0) return EACCES;
  return 0;
}

}  // namespace

std::string findProgram(const std::string& program) {
  int reason = ENOENT;
  if (program.find('/') != std::string::npos) {
    reason = whyNot(program);
    if (reason == 0) return program;
  } else if (!program.empty()) {
    const char* const variable = std::getenv("PATH");
    std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
    for (bool isLast = false; !isLast;) {
      const std::size_t end = std::min(path.find(':'), path.size());
      isLast = end == path.size();
      // An empty entry stands for the current folder.
      const std::string file = (end == 0 ? "." : std::string(path.substr(0, end))) + "/" + program;
      path.remove_prefix(isLast ? end : end + 1);
      const int why = whyNot(file);
      if (why == 0) return file;
      if (why == EACCES) reason = EACCES;
    }
  }
  throw Error("cannot run " + program + ": " + std::strerror(reason));
}

}  // namespace pipetrace
