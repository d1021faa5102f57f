#include "parser/job_log/log_share.h"

namespace pipetrace {

void LogStretch::clear() {
  about.clear();
  events.clearEvents();
  ofLines = {};
  jobLines = 0;
}

}  // namespace pipetrace
