#include "runtime/engine/config/yaml_mistakes.h"

#include <algorithm>
#include <vector>

#include "runtime/engine/config/config_file.h"

namespace pipetrace {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view stripped(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> linesOf(std::string_view text, std::size_t most) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Finds what is still open at the end of a text: a bracket or a quote.
class OpenPlaces {
 public:
  explicit OpenPlaces(std::string_view text) : text_(text) {
    while (at_ < text_.size()) read();
  }

  std::optional<YamlMistake> first() const {
    if (open_.empty()) return std::nullopt;
    const Place& place = open_.front();
    const bool isQuote = place.sign == '\'' || place.sign == '"';
    return YamlMistake{place.line, std::string(isQuote ? "the quote " : "the bracket ") +
                                       place.sign + " is not closed"};
  }

 private:
  struct Place {
    char sign = 0;
    int line = 0;
  };

  bool isBlankBefore() const {
    return at_ == 0 || text_[at_ - 1] == '\n' ||
           kBlanks.find(text_[at_ - 1]) != std::string_view::npos;
  }

  bool isBlankBehind() const {
    return at_ + 1 == text_.size() || text_[at_ + 1] == '\n' ||
           kBlanks.find(text_[at_ + 1]) != std::string_view::npos;
  }

  void read() {
    const char c = text_[at_];
    const char inside = open_.empty() ? 0 : open_.back().sign;
    if (c == '\n') ++line_;
    if (inside == '\'' || inside == '"') {
      if (c == '\\' && inside == '"') ++at_;
      if (c == inside) open_.pop_back();
      ++at_;
      return;
    }
    if (c == '#' && isBlankBefore()) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    const bool isFlow = inside != 0;
    if (beginsValue_ && (c == '\'' || c == '"' || c == '[' || c == '{')) {
      open_.push_back({c, line_});
    } else if (isFlow && (c == ']' || c == '}')) {
      open_.pop_back();
    }
    const bool isSign = c == '\n' || c == '[' || c == '{' || (isFlow && (c == ',' || c == ':')) ||
                        (c == ':' && isBlankBehind()) || (c == '-' && beginsValue_);
    if (isSign || kBlanks.find(c) == std::string_view::npos) beginsValue_ = isSign;
    ++at_;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool beginsValue_ = true;
  std::vector<Place> open_;
};

/// Where a key ends in a line: a colon before a blank or at the end.
std::size_t colonOf(std::string_view line, std::size_t from = 0) {
  for (std::size_t at = line.find(':', from); at != std::string_view::npos;
       at = line.find(':', at + 1)) {
    if (at + 1 == line.size() || kBlanks.find(line[at + 1]) != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

std::string_view withoutComment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || kBlanks.find(line[at - 1]) != std::string_view::npos) return line.substr(0, at);
  }
  return line;
}

bool isPlainLine(std::string_view line) {
  return !line.empty() && !line.starts_with("- ") && !line.starts_with("---") && line != "-";
}

}  // namespace

std::string missingIn(std::string_view key) {
  const std::size_t end = key.find_first_of(" \t:");
  if (end == std::string_view::npos) return "";
  const std::string name = shownText(key.substr(0, end));
  return key[end] == ':' ? "a blank is missing after " + name + ":"
                         : "a colon and a blank are missing after " + name;
}

std::optional<YamlMistake> openQuote(std::string_view text) {
  for (const std::string_view block : {"|\n", ">\n", "|-\n", ">-\n", "|\r", ">\r"}) {
    if (text.find(block) != std::string_view::npos) return std::nullopt;
  }
  const auto open = OpenPlaces(text).first();
  return open && open->what.starts_with("the quote") ? open : std::nullopt;
}

std::optional<YamlMistake> yamlMistake(std::string_view text, int line) {
  const std::vector<std::string_view> lines = linesOf(text, static_cast<std::size_t>(line));
  if (lines.empty()) return std::nullopt;
  const std::string_view last = lines.back();
  if (last.substr(0, last.find_first_not_of(kBlanks)).find('\t') != std::string_view::npos) {
    return YamlMistake{static_cast<int>(lines.size()),
                       "a line of YAML is indented with blanks, not with tabs"};
  }
  if (const auto open = OpenPlaces(text).first()) return open;
  const std::string_view stopped = stripped(withoutComment(last));
  for (std::size_t i = lines.size(); i-- > 0;) {
    const std::string_view one = stripped(withoutComment(lines[i]));
    if (one.empty()) continue;
    if (isPlainLine(one) && colonOf(one) == std::string_view::npos) {
      const std::string missing = missingIn(one);
      return YamlMistake{static_cast<int>(i) + 1,
                         missing.empty() ? "a colon is missing after " + shownText(one) : missing};
    }
    if (i + 1 < lines.size()) break;
  }
  const std::size_t first = colonOf(stopped);
  if (first != std::string_view::npos && colonOf(stopped, first + 1) != std::string_view::npos) {
    return YamlMistake{static_cast<int>(lines.size()),
                       "there is a second colon before a blank; put the value in quotes"};
  }
  return std::nullopt;
}

}  // namespace pipetrace
