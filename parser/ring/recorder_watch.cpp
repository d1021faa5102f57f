#include "parser/ring/recorder_watch.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "parser/job_log/lines/log_meta.h"
#include "parser/ring/recorder_state.h"
#include "parser/ring/ring_contents.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

/// 0: that is not known.
std::int64_t processOfRing(const std::string& path) {
  std::string bytes(sizeof(ring_format::FileHeader), '\0');
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return 0;  // opening a FIFO may never end
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ring_format::FileHeader header{};
  std::string whyNot;
  return in && readRingHeader(bytes, header, whyNot) ? header.pid : 0;
}

}  // namespace

void RecorderWatch::addLines(std::string_view lines) {
  const std::size_t mark = lines.rfind(log_format::kMeta);
  if (mark == std::string_view::npos) return;
  lines.remove_prefix(mark + log_format::kMeta.size());
  LogRun run;
  readMetaLine(run, lines.substr(0, lines.find('\n')), 0);
  host_ = run.info.host;
  ringFile_ = run.ringFile;
  isGone_ = false;
}

bool RecorderWatch::hasEndedByRing() const {
  if (ringFile_.empty() || ringFile_.find('/') != std::string::npos) return false;
  const std::string ring = (std::filesystem::path(path_).parent_path() / ringFile_).string();
  return recorderState(path_, host_, processOfRing(ring)) == RecorderState::kEnded;
}

bool RecorderWatch::isOutOfSight() const {
  return !wasHeld_ && !host_.empty() && host_ != thisHost();
}

void RecorderWatch::look() {
  const RecorderLock::State lock = RecorderLock::of(path_);
  wasHeld_ = wasHeld_ || lock == RecorderLock::State::kHeld;
  isGone_ = lock == RecorderLock::State::kFree && (wasHeld_ || hasEndedByRing());
}

}  // namespace pipetrace
