#include "runtime/control/start/open_files.h"

#include <sys/resource.h>

namespace pipetrace {

void allowMoreFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace pipetrace
