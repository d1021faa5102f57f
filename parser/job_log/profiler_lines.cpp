#include "parser/job_log/profiler_lines.h"

#include <algorithm>

#include "trace/log/log_format.h"

namespace pipetrace {

namespace lf = log_format;

std::size_t lastMetaLine(const std::string& text) {
  const std::size_t mark = text.rfind(lf::kMeta);
  if (mark == std::string::npos) return mark;
  const std::size_t lineEnd = text.rfind('\n', mark);
  return lineEnd == std::string::npos ? 0 : lineEnd + 1;
}

std::string linesOfProfiler(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    if (line.find(lf::kMark) != std::string_view::npos) lines += line;
    text.remove_prefix(line.size());
  }
  return lines;
}

}  // namespace pipetrace
