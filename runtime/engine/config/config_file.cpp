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
#include <utility>

#include "runtime/engine/config/yaml_mistakes.h"
#include "trace/error.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

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

}  // namespace pipetrace
