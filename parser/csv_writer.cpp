#include "parser/csv_writer.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "parser/json/text_buffer.h"
#include "parser/profile/argument_json.h"
#include "trace/text/display_name.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

/// Adds a text, in quotes where it needs them, with quotes doubled.
void addText(TextBuffer& out, std::string_view text, bool isQuoted = false) {
  if (!isQuoted && text.find_first_of(",\"\r\n") == std::string_view::npos) return out.add(text);
  out.add('"');
  for (const char c : text) {
    if (c == '"') out.add('"');
    out.add(c);
  }
  out.add('"');
}

/// A text from a log, as a cell.
std::string cellOf(std::string_view text, bool isSafe) {
  constexpr std::string_view kBegins[] = {"=", "+", "-", "@", "\t", "＝", "＋", "－", "＠"};
  constexpr std::string_view kBlanks[] = {" ", "\n", "\u00a0", "\ufeff"};
  std::string cell = fitToPrint(text);
  if (!isSafe) return cell;
  std::string_view rest = cell;
  const auto begins = [&](std::string_view start) { return rest.starts_with(start); };
  const std::string_view* blank = nullptr;
  while ((blank = std::find_if(std::begin(kBlanks), std::end(kBlanks), begins)) !=
         std::end(kBlanks)) {
    rest.remove_prefix(blank->size());
  }
  const bool isFormula = std::any_of(std::begin(kBegins), std::end(kBegins), begins);
  return isFormula ? "'" + cell : cell;
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
              const std::string& lane, const Event& event, bool isSafe) {
  addNumber(out, track.rank);
  addText(out, lane, isSafe);
  out.add(',');
  out.add(logName(event.kind));
  out.add(',');
  addText(out, cellOf(displayName(timeline, event), isSafe), isSafe);
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

ProfileSummary writeCsv(const Timeline& timeline, OutputFile& out, bool isSafe) {
  ProfileSummary summary;
  out.write(kCsvHeader);
  TextBuffer line;
  for (const Track& track : timeline.tracks) {
    const std::string lane = cellOf(track.lane, isSafe);
    for (const Event& event : track.events) {
      line.clear();
      addEvent(line, timeline, track, lane, event, isSafe);
      out.write(line.text());
      summary.add(track, event);
    }
  }
  return summary;
}

}  // namespace pipetrace
