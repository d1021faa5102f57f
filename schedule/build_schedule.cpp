#include "schedule/build_schedule.h"

#include "schedule/builders.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

struct Entry {
  std::string_view name;
  /// Other projects' names, reduced as reduced() does; unused places are empty.
  std::string_view aliases[3];
  Schedule (*build)(int ranks, int microBatches);
};

constexpr Entry kEntries[] = {
    // torch calls backwards in order GPipe: its class is our FThenB.
    {"FThenB", {"afab", "allforwardallbackward", "schedulegpipe"}, fThenB},
    {"GPipe", {}, gPipe},
    {"1F1B", {"onefoneb", "pipedreamflush", "schedule1f1b"}, oneFOneB},
};

std::string reduced(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

bool isCalled(const Entry& entry, std::string_view key) {
  if (key.empty()) return false;
  if (reduced(entry.name) == key) return true;
  for (const std::string_view alias : entry.aliases) {
    if (alias == key) return true;
  }
  return false;
}

}  // namespace

Schedule buildSchedule(std::string_view name, const PlanSize& size, const AutoInput&) {
  const std::string key = reduced(name);
  for (const Entry& entry : kEntries) {
    if (isCalled(entry, key)) return entry.build(size.ranks, size.microBatches);
  }
  std::string text = "no schedule is called \"" + std::string(name) + "\"; choose one of";
  const char* separator = " ";
  for (const std::string& known : scheduleNames()) {
    text += separator + known;
    separator = ", ";
  }
  throw Error(text);
}

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.emplace_back(entry.name);
  return names;
}

}  // namespace pipetrace
