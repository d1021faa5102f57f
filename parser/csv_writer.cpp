#include "parser/csv_writer.h"

#include <string>
#include <string_view>

#include "parser/csv_format.h"
#include "parser/json/text_buffer.h"
#include "parser/profile/argument_json.h"
#include "trace/text/display_name.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

/// Adds a text, in quotes where it needs them, with quotes doubled.
void addText(TextBuffer& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return out.add(text);
  out.add('"');
  for (const char c : text) {
    if (c == '"') out.add('"');
    out.add(c);
  }
  out.add('"');
}

void addNumber(TextBuffer& out, std::int64_t value) {
  out.addNumber(value);
  out.add(',');
}

void addGiven(TextBuffer& out, std::int64_t value) {
  if (value != kNotGiven) out.addNumber(value);
  out.add(',');
}

void addEvent(TextBuffer& out, const Timeline& timeline, const Track& track,
              const std::string& lane, const Event& event) {
  addNumber(out, track.rank);
  addText(out, lane);
  out.add(',');
  out.add(logName(event.kind));
  out.add(',');
  addText(out, toUtf8(displayName(timeline, event)));
  out.add(',');
  addNumber(out, event.begin);
  addNumber(out, event.end);
  addNumber(out, event.duration());
  addGiven(out, event.step);
  addGiven(out, event.microBatch);
  addGiven(out, event.stage);
  addGiven(out, event.chunk);
  addGiven(out, event.part);
  addGiven(out, event.number);
  addGiven(out, event.job);
  addGiven(out, event.peer);
  out.add(bubbleClassName(event.bubbleClass));
  out.add(',');
  if (event.argumentCount > 0) addText(out, argumentsToJson(timeline, event));
  out.add(',');
  out.add(logName(event.phase));
  out.add('\n');
}

}  // namespace

ProfileSummary writeCsv(const Timeline& timeline, OutputFile& out) {
  ProfileSummary summary;
  out.write(kCsvHeader);
  TextBuffer line;
  for (const Track& track : timeline.tracks) {
    const std::string lane = toUtf8(track.lane);
    for (const Event& event : track.events) {
      line.clear();
      addEvent(line, timeline, track, lane, event);
      out.write(line.text());
      summary.add(track, event);
    }
  }
  return summary;
}

}  // namespace pipetrace
