#include "parser/csv_writer.h"

#include <string>
#include <string_view>

#include "parser/argument_json.h"
#include "parser/utf8.h"
#include "trace/display_name.h"

namespace pipetrace {
namespace {

constexpr std::string_view kHeader =
    "rank,lane,kind,name,begin_ns,end_ns,duration_ns,step,micro_batch,stage,chunk,part,number,job,"
    "peer,class,arguments\n";

/// Quoted where it has to be, quotes doubled.
void appendText(std::string& line, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

void appendGiven(std::string& line, std::int64_t value) {
  if (value != kNotGiven) line += std::to_string(value);
  line += ',';
}

void appendEvent(std::string& line, const Timeline& timeline, const Track& track,
                 const std::string& lane, const Event& event) {
  line += std::to_string(track.rank) + ',';
  appendText(line, lane);
  line += ',';
  line += logName(event.kind);
  line += ',';
  appendText(line, toUtf8(displayName(timeline, event)));
  line += ',' + std::to_string(event.begin) + ',' + std::to_string(event.end) + ',' +
          std::to_string(event.duration()) + ',';
  appendGiven(line, event.step);
  appendGiven(line, event.microBatch);
  appendGiven(line, event.stage);
  appendGiven(line, event.chunk);
  appendGiven(line, event.part);
  appendGiven(line, event.number);
  appendGiven(line, event.job);
  appendGiven(line, event.peer);
  line += bubbleClassName(event.bubbleClass);
  line += ',';
  appendText(line, argumentsToJson(timeline, event));
  line += '\n';
}

}  // namespace

ProfileSummary writeCsv(const Timeline& timeline, OutputFile& out) {
  ProfileSummary summary;
  out.write(kHeader);
  std::string line;
  for (const Track& track : timeline.tracks) {
    const std::string lane = toUtf8(track.lane);
    for (const Event& event : track.events) {
      line.clear();
      appendEvent(line, timeline, track, lane, event);
      out.write(line);
      summary.add(track, event);
    }
  }
  return summary;
}

}  // namespace pipetrace
