#include "runtime/engine/config/config_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/error.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

/// A mistake that people make in YAML.
struct YamlMistake {
  int line = 0;  ///< from 1 on
  std::string what;
};

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

/// Says what is missing in a line that was read as a key without a value, such as "steps 3" or
/// "steps:3". Empty: nothing.
std::string missingIn(std::string_view key) {
  const std::size_t end = key.find_first_of(" \t:");
  if (end == std::string_view::npos) return "";
  const std::string name = shownText(key.substr(0, end));
  return key[end] == ':' ? "a blank is missing after " + name + ":"
                         : "a colon and a blank are missing after " + name;
}

/// A quote that is open at the end of a text, which yaml-cpp closes there without a word. Empty:
/// none, or the text has blocks of text ("|"), in which a quote means nothing.
std::optional<YamlMistake> openQuote(std::string_view text) {
  for (const std::string_view block : {"|\n", ">\n", "|-\n", ">-\n", "|\r", ">\r"}) {
    if (text.find(block) != std::string_view::npos) return std::nullopt;
  }
  const auto open = OpenPlaces(text).first();
  return open && open->what.starts_with("the quote") ? open : std::nullopt;
}

/// Looks for the mistake because of which a parser stopped in `line` (from 1 on). It is often in a
/// line before that one. It may be a tab as indentation, or a bracket or a quote that is not
/// closed. It may be a key without a colon and a blank, or two of these in one line. Empty: none of
/// these.
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

constexpr std::uintmax_t kMostBytes = 64 << 20;
constexpr int kMostValues = 100'000;
constexpr std::size_t kMostDepth = 20;

/// Makes the values as the parser finds them, so that what is too large is refused at once.
class ValueBuilder : public YAML::EventHandler {
 public:
  explicit ValueBuilder(std::string file) : file_(std::move(file)) {}

  ConfigValue take() { return std::move(whole_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuseAnchor(mark, anchor);
    add({.kind = ConfigValue::Kind::kNothing, .line = lineOf(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { fail(mark, kAnchors); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuseAnchor(mark, anchor);
    const bool isQuoted = tag == "!";
    const bool isNothing = !isQuoted && (value == "null" || value == "Null" || value == "~");
    add({.kind = isNothing ? ConfigValue::Kind::kNothing : ConfigValue::Kind::kText,
         .line = lineOf(mark),
         .text = value});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuseAnchor(mark, anchor);
    begin({.kind = ConfigValue::Kind::kList, .line = lineOf(mark)});
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuseAnchor(mark, anchor);
    begin({.kind = ConfigValue::Kind::kMap, .line = lineOf(mark)});
  }
  void OnMapEnd() override { end(); }

 private:
  static constexpr const char* kAnchors = "anchors and aliases are not read here; write it again";

  static int lineOf(const YAML::Mark& mark) { return mark.line + 1; }
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& why) const {
    throw Error(placeIn(file_, lineOf(mark)) + ": " + why);
  }
  void refuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) fail(mark, kAnchors);
  }

  /// Gives a whole value to the list or the map that is open.
  void add(ConfigValue value) {
    if (++count_ > kMostValues) {
      throw Error(placeIn(file_, value.line) + ": it has more than " + std::to_string(kMostValues) +
                  " values, so it is no configuration");
    }
    if (open_.empty()) {
      whole_ = std::move(value);
      return;
    }
    ConfigValue& parent = open_.back();
    if (parent.kind == ConfigValue::Kind::kList) {
      parent.items.push_back(std::move(value));
    } else if (keys_.back().kind == ConfigValue::Kind::kNothing) {
      if (value.kind != ConfigValue::Kind::kText) {
        throw Error(placeIn(file_, value.line) + ": a key is a word, not a list or a map");
      }
      keys_.back() = std::move(value);
    } else {
      const ConfigValue key = std::exchange(keys_.back(), {});
      parent.entries.push_back({key.text, key.line, std::move(value)});
    }
  }
  void begin(ConfigValue value) {
    if (open_.size() >= kMostDepth) {
      throw Error(placeIn(file_, value.line) + ": lists and maps are nested too deeply");
    }
    open_.push_back(std::move(value));
    keys_.emplace_back();
  }
  void end() {
    ConfigValue value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    add(std::move(value));
  }

  const std::string file_;
  ConfigValue whole_;
  std::vector<ConfigValue> open_;
  std::vector<ConfigValue> keys_;  // of the open maps: the key whose value comes next
  int count_ = 0;
};

std::string bytesOf(const std::string& path) {
  const std::string failed = "cannot read " + path + ": ";
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw Error(failed + "it is a folder");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kMostBytes) throw Error(failed + "it has more than 64 MiB");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(failed + std::strerror(errno));
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (bytes.find('\0') != std::string::npos) {
    throw Error(failed + "it is no text of UTF-8, as it has bytes that are 0");
  }
  return bytes;
}

/// Says what is wrong, and where: the mistake that people make, else the parser's words.
[[noreturn]] void failParsing(const std::string& path, const YAML::Exception& error,
                              const std::string& bytes) {
  const int line = error.mark.line + 1;
  const std::optional<YamlMistake> mistake = yamlMistake(bytes, line);
  if (mistake) throw Error(placeIn(path, mistake->line) + ": " + mistake->what);
  throw Error(placeIn(path, line) + ": this is no YAML: " + error.msg);
}

/// yaml-cpp takes a line without a colon for a key without a value, where no key comes after it.
void requireColons(const std::string& path, const ConfigValue& map) {
  for (const ConfigEntry& entry : map.entries) {
    if (entry.value.kind != ConfigValue::Kind::kNothing) continue;
    const std::string missing = missingIn(entry.key);
    if (!missing.empty()) throw Error(placeIn(path, entry.line) + ": " + missing);
  }
}

bool isNumberOfJson(const std::string& text) {
  const nlohmann::json value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_number() || value.is_boolean();
}

}  // namespace

std::string placeIn(const std::string& file, int line) { return file + ":" + std::to_string(line); }

std::string shownText(std::string_view text) {
  constexpr std::size_t kMost = 60;
  return fitInLine(text.substr(0, kMost)) + (text.size() > kMost ? " ..." : "");
}

std::string jsonOf(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::kNothing: return "null";
    case ConfigValue::Kind::kText:
      if (isNumberOfJson(value.text)) return value.text;
      return nlohmann::json(value.text)
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    case ConfigValue::Kind::kList: {
      std::string text = "[";
      for (const ConfigValue& item : value.items) {
        text += (text.size() > 1 ? ", " : "") + jsonOf(item);
      }
      return text + "]";
    }
    case ConfigValue::Kind::kMap: {
      std::string text = "{";
      for (const ConfigEntry& entry : value.entries) {
        text += (text.size() > 1 ? ", " : "") + nlohmann::json(entry.key).dump() + ": " +
                jsonOf(entry.value);
      }
      return text + "}";
    }
  }
  return "";
}

ConfigValue readConfigFile(const std::string& path, const std::string& example) {
  const std::string bytes = bytesOf(path);
  std::istringstream in(bytes);
  ValueBuilder builder(path);
  try {
    YAML::Parser parser(in);
    parser.HandleNextDocument(builder);
    ConfigValue whole = builder.take();
    ValueBuilder second(path);
    if (parser.HandleNextDocument(second)) {
      throw Error(placeIn(path, second.take().line) + ": a second document begins here");
    }
    if (const auto open = openQuote(bytes)) {
      throw Error(placeIn(path, open->line) + ": " + open->what);
    }
    requireColons(path, whole);
    if (whole.kind == ConfigValue::Kind::kMap) return whole;
    throw Error(placeIn(path, std::max(whole.line, 1)) + ": it has no keys and values, such as " +
                example);
  } catch (const YAML::ParserException& error) {
    failParsing(path, error, bytes);
  } catch (const YAML::Exception& error) {  // nested too deeply
    throw Error(placeIn(path, error.mark.line + 1) + ": this is no YAML: " + error.msg);
  }
}

namespace fs = std::filesystem;

std::vector<std::string> ConfigPaths::candidates(const std::string& path) const {
  if (fs::path(path).is_absolute()) return {path};
  std::vector<std::string> all;
  for (const std::string& base : {folder, fileFolder}) {
    if (!base.empty()) all.push_back((fs::path(base) / path).lexically_normal().string());
  }
  return all;
}

std::string ConfigPaths::resolve(const std::string& path) const {
  const std::vector<std::string> all = candidates(path);
  for (const std::string& each : all) {
    std::error_code error;
    if (fs::exists(each, error)) return each;
  }
  return all.front();
}

std::string modelFolder(const std::string& directory, const std::string& fileFolder) {
  if (directory.empty()) return "";
  std::vector<fs::path> all = {fs::absolute(directory)};
  if (fs::path(directory).is_relative()) all.push_back(fs::path(fileFolder) / directory);
  for (const fs::path& each : all) {
    std::error_code error;
    if (fs::is_directory(each, error)) return each.lexically_normal().string();
  }
  return "";
}

}  // namespace pipetrace
