#include "parser/job_log/lines/log_line_kind.h"

#include <array>
#include <utility>

#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

constexpr std::array<std::pair<std::string_view, LogLineKind>, 8> kMarks = {{
    {lf::kInfo, LogLineKind::kInfo},
    {lf::kStream, LogLineKind::kStream},
    {lf::kMeta, LogLineKind::kMeta},
    {lf::kClock, LogLineKind::kClock},
    {lf::kKernel, LogLineKind::kKernel},
    {lf::kCounter, LogLineKind::kCounter},
    {lf::kEnd, LogLineKind::kEnd},
    {kFirstStepMark, LogLineKind::kFirstStep},
}};

}  // namespace

LogLine classifyLogLine(std::string_view text) {
  for (std::size_t at = text.find(lf::kMark); at != std::string_view::npos;
       at = text.find(lf::kMark, at + 1)) {
    const std::string_view rest = text.substr(at);
    for (const auto& [mark, kind] : kMarks) {
      if (rest.starts_with(mark)) return {kind, rest, rest.substr(mark.size())};
    }
  }
  return {};
}

}  // namespace pipetrace
