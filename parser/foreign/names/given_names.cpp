#include "parser/foreign/names/given_names.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "parser/byte_source.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr std::string_view kKinds = "kinds";
constexpr std::size_t kLargestFile = std::size_t{16} << 20;

std::string allowedKinds() {
  std::string list;
  for (int i = 0; i < kJobKindCount; ++i) {
    const auto kind = static_cast<JobKind>(i);
    if (kind != JobKind::kBubble) list += (list.empty() ? "" : ", ") + std::string(logName(kind));
  }
  return list;
}

/// "FILE:3: " for the byte `at` of the text.
std::string place(const std::string& file, std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(at);
  return file + ":" + std::to_string(1 + std::count(text.begin(), end, '\n')) + ": ";
}

/// Takes the text apart. The place of a key is found by searching for it.
class KindsHandler {
 public:
  using Entry = std::pair<std::string, std::string>;

  KindsHandler(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  const std::vector<Entry>& entries() const { return entries_; }
  bool hasKinds() const { return hasKinds_; }

  bool start_object(std::size_t) {
    if (++depth_ > 2) wrongKind();
    return true;
  }
  bool end_object() { return --depth_, true; }
  bool start_array(std::size_t) { return wrongKind(); }
  bool end_array() { return true; }
  bool key(std::string& text) {
    key_ = text;
    const std::string quoted = nlohmann::json(text).dump();
    const std::size_t found = text_.find(quoted, at_);
    if (found != std::string_view::npos) at_ = found;
    if (depth_ == 1 && text != kKinds) {
      fail("\"" + text + "\" is not known; the file is {\"kinds\": {NAME: KIND, ...}}");
    }
    hasKinds_ = true;
    return true;
  }
  bool string(std::string& text) {
    if (depth_ != 2) return wrongKind();
    const JobKind kind = jobKindFromLogName(text);
    const bool isKnown = kind != JobKind::kOther || text == logName(JobKind::kOther);
    if (!isKnown || kind == JobKind::kBubble) {
      fail("\"" + text + "\", of \"" + key_ + "\", is no kind of job; kinds are " + allowedKinds());
    }
    if (!seen_.insert(key_).second) fail("\"" + key_ + "\" is there twice");
    entries_.emplace_back(key_, text);
    return true;
  }
  bool null() { return wrongKind(); }
  bool boolean(bool) { return wrongKind(); }
  bool number_integer(std::int64_t) { return wrongKind(); }
  bool number_unsigned(std::uint64_t) { return wrongKind(); }
  bool number_float(double, const std::string&) { return wrongKind(); }
  bool binary(nlohmann::json::binary_t&) { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) {
    throw Error(place(file_, text_, position) + "no valid JSON: " + error.what());
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(place(file_, text_, at_) + what);
  }

 private:
  [[noreturn]] bool wrongKind() const {
    if (depth_ < 2) fail("the file is no object {\"kinds\": {NAME: KIND, ...}}");
    fail("the kind of \"" + key_ + "\" is no text; kinds are " + allowedKinds());
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;  // of the latest key
  int depth_ = 0;
  std::string key_;
  bool hasKinds_ = false;
  std::set<std::string> seen_;
  std::vector<Entry> entries_;
};

}  // namespace

KindsFile KindsFile::read(const std::string& file) {
  ByteSource source(file);
  const std::string_view text = source.peek(kLargestFile);
  if (text.size() == kLargestFile) throw Error(file + " is too long to be a list of kinds");
  return parse(text, file);
}

KindsFile KindsFile::parse(std::string_view json, const std::string& file) {
  KindsHandler handler(json, file);
  nlohmann::json::sax_parse(json.begin(), json.end(), &handler);
  if (handler.entries().empty()) {
    throw Error(file + " names no kinds; it is {\"kinds\": {NAME: KIND, ...}}");
  }
  KindsFile names;
  for (const auto& [name, kind] : handler.entries()) {
    names.add(name, jobKindFromLogName(kind));
    const std::string& fault = names.patterns_.back().fault();
    if (fault.empty()) continue;
    const std::size_t at = json.find(nlohmann::json(name).dump());
    throw Error(place(file, json, at) + "\"" + name + "\" is no regular expression: " + fault +
                "; in a name that is meant as it is, write \\ before its brackets");
  }
  return names;
}

void KindsFile::add(const std::string& name, JobKind kind) {
  names_.emplace(name, kind);
  patterns_.emplace_back(name, kind);
}

std::optional<JobName> KindsFile::find(std::string_view name) const {
  std::optional<JobName> job;
  if (const auto found = names_.find(name); found != names_.end()) {
    job.emplace().kind = found->second;
  }
  for (auto pattern = patterns_.begin(); !job && pattern != patterns_.end(); ++pattern) {
    job = pattern->match(name);
  }
  if (job) job->isAsked = true;
  return job;
}

NamePreset::NamePreset(const TracedProgram& program) {
  for (const auto rows : {program.names(), program.libraryNames()}) {
    for (const NameRow& row : rows) patterns_.emplace_back(row.pattern, row.kind);
  }
}

std::optional<JobName> NamePreset::find(std::string_view name) const {
  for (const NamePattern& pattern : patterns_) {
    if (auto job = pattern.match(name)) return job;
  }
  return std::nullopt;
}

std::vector<std::string> namePresets() {
  std::vector<std::string> words;
  for (const TracedProgram& program : kTracedPrograms) {
    if (!program.preset.empty()) words.emplace_back(program.preset);
  }
  return words;
}

const NamePreset* findNamePreset(std::string_view word) {
  static const std::map<std::string_view, NamePreset> presets = [] {
    std::map<std::string_view, NamePreset> map;
    for (const TracedProgram& program : kTracedPrograms) {
      if (!program.preset.empty()) map.try_emplace(program.preset, program);
    }
    return map;
  }();
  const auto found = presets.find(word);
  return found == presets.end() ? nullptr : &found->second;
}

GivenNames::GivenNames(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (const NamePreset* const preset = findNamePreset(word)) {
      presets_.push_back(preset);
    } else {
      files_.push_back(KindsFile::read(word));
    }
  }
}

std::optional<JobName> GivenNames::find(std::string_view name) const {
  for (const KindsFile& file : files_) {
    if (auto job = file.find(name)) return job;
  }
  for (const NamePreset* const preset : presets_) {
    if (auto job = preset->find(name)) return job;
  }
  return std::nullopt;
}

}  // namespace pipetrace
