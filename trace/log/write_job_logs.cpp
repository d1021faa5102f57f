#include "trace/log/write_job_logs.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "trace/files/output_set.h"
#include "trace/log/log_format.h"
#include "trace/log/log_writer.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
namespace lf = log_format;

template <typename Number>
std::string textOf(Number number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

/// Appends an argument for which the line has no field.
void appendArgument(std::string& out, const Timeline& timeline, const Argument& argument) {
  out.pop_back();
  out += ", ";
  out += timeline.strings[argument.key];
  out += " = ";
  switch (argument.type) {
    case ArgumentType::kInteger: out += textOf(argument.integer); break;
    case ArgumentType::kReal: out += textOf(argument.real); break;
    case ArgumentType::kText: appendLogValue(out, timeline.strings[argument.text]); break;
  }
  out += '\n';
}

/// Whether the argument is a detail of the job; if so, it has been set.
bool takeDetail(std::string_view key, const Argument& argument, JobDetails& details) {
  bool isTaken = false;
  visitJobDetails([&]<typename Detail>(Detail, auto field) {
    if (Detail::kPlace != DetailPlace::kArgument || Detail::kKey != key) return;
    if (argument.type != ArgumentType::kInteger) return;
    field(details) = argument.integer;
    isTaken = true;
  });
  return isTaken;
}

class RankLog {
 public:
  RankLog(const Timeline& timeline, int rank) : timeline_(timeline), rank_(rank) {}

  std::string text() {
    const RankInfo& info = timeline_.ranks.at(rank_);
    writer_.appendMeta(out_, info);
    for (const ClockReading& reading : info.clockReadings) writer_.append(out_, reading);
    for (const Track& track : tracksOf(timeline_, rank_)) {
      if (track.lane == kBubbleLane) continue;
      for (const Event& event : track.events) appendEvent(track, event);
    }
    for (const CounterSeries& series : timeline_.counters) {
      if (series.rank == rank_) appendCounter(series);
    }
    if (info.hasEnd) writer_.appendEnd(out_, info);
    return std::move(out_);
  }

 private:
  void appendEvent(const Track& track, const Event& event) {
    others_.clear();
    if (track.lane == kComputeLane) {
      appendJob(event);
    } else {
      appendStream(track, event);
    }
    for (const Argument* argument : others_) appendArgument(out_, timeline_, *argument);
  }

  std::string_view typeOf(const Event& event) const {
    const bool isNamed = event.kind == JobKind::kOther && event.name != 0;
    return isNamed ? timeline_.strings[event.name] : logName(event.kind);
  }

  void appendJob(const Event& event) {
    JobLine line{.type = typeOf(event),
                 .number = event.number,
                 .microBatch = event.microBatch,
                 .begin = event.begin,
                 .end = event.end,
                 .id = event.job,
                 .step = event.step,
                 .stage = event.stage,
                 .chunk = event.chunk,
                 .phase = event.phase};
    visitJobDetails([&]<typename Detail>(Detail, auto field) {
      if constexpr (Detail::kPlace == DetailPlace::kField) field(line.details) = field(event);
    });
    for (const Argument& argument : timeline_.argumentsOf(event)) {
      const std::string_view key = timeline_.strings[argument.key];
      if (key == lf::kAction && argument.type == ArgumentType::kText) {
        line.action = timeline_.strings[argument.text];
      } else if (!takeDetail(key, argument, line.details)) {
        others_.push_back(&argument);
      }
    }
    writer_.append(out_, line);
  }

  void appendStream(const Track& track, const Event& event) {
    StreamLine line{.type = typeOf(event),
                    .microBatch = event.microBatch,
                    .begin = event.begin,
                    .end = event.end,
                    .stream = track.lane,
                    .peer = event.peer,
                    .job = event.job,
                    .step = event.step,
                    .stage = event.stage,
                    .chunk = event.chunk,
                    .phase = event.phase};
    for (const Argument& argument : timeline_.argumentsOf(event)) {
      const bool isBytes = timeline_.strings[argument.key] == lf::kBytes;
      if (isBytes && argument.type == ArgumentType::kInteger) {
        line.bytes = argument.integer;
      } else {
        others_.push_back(&argument);
      }
    }
    writer_.append(out_, line);
  }

  void appendCounter(const CounterSeries& series) {
    for (const CounterSample& sample : series.samples) {
      writer_.append(out_, CounterLine{.name = series.name,
                                       .time = sample.time,
                                       .value = sample.value,
                                       .unit = series.unit});
    }
  }

  const Timeline& timeline_;
  int rank_;
  LogWriter writer_;
  std::string out_;
  std::vector<const Argument*> others_;  // of the current event
};

}  // namespace

std::string jobLogText(const Timeline& timeline, int rank) {
  return RankLog(timeline, rank).text();
}

std::string jobLogPath(const std::string& folder, int rank) {
  return (fs::path(folder) / (std::string(lf::kFilePrefix) + std::to_string(rank))).string();
}

void writeJobLogs(const Timeline& timeline, const std::string& folder) {
  OutputSet logs;
  logs.makeFolder(folder);
  for (const auto& [rank, info] : timeline.ranks) {
    const std::string path = jobLogPath(folder, rank);
    std::ostringstream text;
    std::ifstream earlierRuns(path, std::ios::binary);
    if (earlierRuns.peek() != std::ifstream::traits_type::eof()) text << earlierRuns.rdbuf();
    text << jobLogText(timeline, rank);
    logs.add(path, text.str());
  }
  logs.commit();
}

}  // namespace pipetrace
