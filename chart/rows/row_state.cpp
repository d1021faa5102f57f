#include "chart/rows/row_state.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr std::string_view kGroup = "group";
constexpr std::string_view kFilter = "filter";
constexpr std::string_view kFold = "fold";
constexpr std::string_view kUnfold = "unfold";
constexpr std::string_view kHide = "hide";
constexpr std::string_view kPin = "pin";
constexpr std::string_view kOrder = "order";
constexpr std::string_view kStage = "stage";

/// Writes words into a line, separated by tabs. Names may hold any byte.
void addLine(std::string& text, std::string_view what, const std::vector<std::string>& words) {
  text += what;
  for (const std::string& word : words) {
    text += '\t';
    for (const char c : word) {
      if (c == '\\' || c == '\t' || c == '\n') text += '\\';
      text += c == '\t' ? 't' : c == '\n' ? 'n' : c;
    }
  }
  text += '\n';
}

std::vector<std::string> wordsOf(std::string_view line) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      words.emplace_back();
    } else if (line[i] == '\\' && i + 1 < line.size()) {
      const char c = line[++i];
      words.back() += c == 't' ? '\t' : c == 'n' ? '\n' : c;
    } else {
      words.back() += line[i];
    }
  }
  return words;
}

void addTo(RowState& state, std::vector<std::string> words) {
  const std::string what = words.front();
  words.erase(words.begin());
  if (words.empty()) return;
  const std::string& first = words.front();
  if (what == kGroup && first == kStage) state.grouping = RowGrouping::kByStage;
  if (what == kFilter) state.filter = first;
  if (what == kFold || what == kUnfold) state.folded[first] = what == kFold;
  if (what == kHide) state.hidden.insert(first);
  if (what == kPin) state.pinned.push_back(first);
  if (what == kOrder) state.order[first] = {words.begin() + 1, words.end()};
}

}  // namespace

std::string toText(const RowState& state) {
  std::string text;
  if (state.grouping == RowGrouping::kByStage) addLine(text, kGroup, {std::string(kStage)});
  if (!state.filter.empty()) addLine(text, kFilter, {state.filter});
  for (const auto& [key, isFolded] : state.folded) addLine(text, isFolded ? kFold : kUnfold, {key});
  for (const std::string& key : state.hidden) addLine(text, kHide, {key});
  for (const std::string& key : state.pinned) addLine(text, kPin, {key});
  for (const auto& [parent, keys] : state.order) {
    std::vector<std::string> words{parent};
    words.insert(words.end(), keys.begin(), keys.end());
    addLine(text, kOrder, words);
  }
  return text;
}

RowState rowStateFrom(std::string_view text) {
  RowState state;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    addTo(state, wordsOf(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return state;
}

}  // namespace pipetrace
