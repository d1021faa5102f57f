#include "parser/paddle/paddle_profile.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "parser/byte_source.h"
#include "parser/find_logs.h"
#include "parser/paddle/python_json.h"
#include "trace/diagnostic.h"
#include "trace/error.h"
#include "trace/job_kind.h"
#include "trace/log/log_format.h"
#include "trace/phase.h"
#include "trace/text/log_numbers.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

/// A job as PaddlePaddle's script sees it: texts, and the doubles that it computes.
struct PaddleLogJob {
  std::string id;
  std::string type;
  std::string microBatch;
  double begin = 0;  ///< microseconds: the text to a double, times 1000
  double end = 0;
};

struct PaddleLog {
  std::vector<PaddleLogJob> jobs;
  std::int64_t startStep = 0;  ///< `Schedule Profiler start at step N and end at step`, else 0
};

// Python's \d and \w are Unicode's. A leading `.*?` changes nothing about what is found.
constexpr const char* kJob =
    R"(Profiler Info: Job \((\p{Nd}+)\), type = ([\p{L}\p{N}_]+), micro_batch_id = (\p{Nd}+), )"
    R"(job_start_time = (\p{Nd}+.\p{Nd}+), job_end_time = (\p{Nd}+.\p{Nd}+))";
constexpr const char* kScheduleStart =
    R"(Schedule Profiler start at step (\p{Nd}+) and end at step)";
constexpr std::string_view kJobBegin = "Profiler Info: Job (";

/// Makes every kind of line end "\n", as Python does when it opens a text file.
void unifyLineEnds(std::string& text) {
  if (text.find('\r') == std::string::npos) return;
  std::size_t to = 0;
  for (std::size_t from = 0; from < text.size(); ++from) {
    const bool isPair = text[from] == '\r' && from + 1 < text.size() && text[from + 1] == '\n';
    if (!isPair) text[to++] = text[from] == '\r' ? '\n' : text[from];
  }
  text.resize(to);
}

/// Python's float(text), for the digits and one character that the pattern lets through.
std::optional<double> toDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc()) return value;
  // Too large or too small for a double: strtod gives what Python does, infinity or zero.
  return error == std::errc::result_out_of_range
             ? std::optional(std::strtod(std::string(text).c_str(), nullptr))
             : std::nullopt;
}

/// Whether the rest of a job's line names the phase evaluate or predict.
bool isOfOtherPhase(std::string_view rest) {
  constexpr std::string_view kSeparator = ", ";
  const std::string key = std::string(kSeparator) + std::string(log_format::kPhase) + " = ";
  rest = rest.substr(0, rest.find('\n'));
  const std::size_t at = rest.find(key);
  if (at == std::string_view::npos) return false;
  const std::string_view value = rest.substr(at + key.size());
  return phaseFromLogName(value.substr(0, value.find(kSeparator))).has_value();
}

/// Reads the text of one log, the file `name`, with the script's regular expressions. Jobs whose
/// lines name the phase evaluate or predict are left out, with a note: the script knows training
/// steps only.
PaddleLog readPaddleLog(std::string text, const std::string& name, Diagnostics& diagnostics) {
  static const re2::RE2 job(kJob);
  static const re2::RE2 start(kScheduleStart);
  if (!isUtf8(text)) {
    diagnostics.add({.file = name,
                     .message = "bytes that are no UTF-8 were replaced",
                     .advice = "PaddlePaddle's script stops at them"});
    text = toUtf8(text);
  }
  unifyLineEnds(text);
  PaddleLog log;
  re2::StringPiece startStep;
  if (re2::RE2::PartialMatch(text, start, &startStep)) {
    const std::string_view digits(startStep.data(), startStep.size());
    const auto step = parseNumber<std::int64_t>(digits);
    if (!step) diagnostics.add({.file = name, .message = "its first step is no usable number"});
    log.startStep = step.value_or(0);
  }
  std::int64_t badTimes = 0;
  std::int64_t otherPhases = 0;
  // Jobs are searched for by hand and then matched, as most lines of most logs are no jobs.
  for (std::size_t at = text.find(kJobBegin); at != std::string::npos;
       at = text.find(kJobBegin, at)) {
    re2::StringPiece rest(text.data() + at, text.size() - at);
    re2::StringPiece id, type, microBatch, begin, end;
    if (!re2::RE2::Consume(&rest, job, &id, &type, &microBatch, &begin, &end)) {
      ++at;
      continue;
    }
    at = static_cast<std::size_t>(rest.data() - text.data());
    if (isOfOtherPhase({rest.data(), rest.size()})) {
      ++otherPhases;
      continue;
    }
    if (!rowOf(jobKindFromLogName({type.data(), type.size()})).isInPaddleProfiles) continue;
    const auto beginMs = toDouble({begin.data(), begin.size()});
    const auto endMs = toDouble({end.data(), end.size()});
    if (!beginMs || !endMs) {
      // Only the line of the first one is shown, and counting it takes a look at all text before
      // it.
      const auto before = text.begin() + static_cast<std::ptrdiff_t>(at);
      const std::int64_t line = badTimes++ == 0 ? 1 + std::count(text.begin(), before, '\n') : 0;
      diagnostics.add({.file = name,
                       .line = line,
                       .message = "a job whose times are no numbers was left out",
                       .advice = "PaddlePaddle's script stops at it"});
      continue;
    }
    log.jobs.push_back({std::string(id.data(), id.size()), std::string(type.data(), type.size()),
                        std::string(microBatch.data(), microBatch.size()), *beginMs * 1000,
                        *endMs * 1000});
  }
  if (otherPhases > 0) {
    diagnostics.add({.severity = Severity::kNote,
                     .file = name,
                     .message = std::to_string(otherPhases) +
                                " jobs of the phases evaluate and predict were left out",
                     .ofSeveral = "jobs of the phases evaluate and predict were left out"});
  }
  return log;
}

constexpr std::string_view kNoColor = "thread_state_unknown";

/// The script's color_map.
std::string_view colorOf(std::string_view type) {
  if (type == "forward") return "thread_state_running";
  if (type == "backward") return "rail_idle";
  if (type == "optimizer") return "rail_response";
  return type == "default" ? kNoColor : std::string_view{};
}

/// A number in Python: the 0 that a step without a job begins with is an int, not a float.
struct PythonNumber {
  double value = 0;
  bool isInt = false;

  void append(std::string& out) const {
    if (isInt) {
      out += std::to_string(static_cast<std::int64_t>(value));
    } else {
      appendPythonFloat(out, value);
    }
  }
};

/// min() and max() of two: the first of equals.
PythonNumber least(PythonNumber a, PythonNumber b) { return b.value < a.value ? b : a; }
PythonNumber greatest(PythonNumber a, PythonNumber b) { return b.value > a.value ? b : a; }

struct Step {
  PythonNumber begin{std::numeric_limits<double>::infinity()};
  PythonNumber end{-std::numeric_limits<double>::infinity()};
};

/// One element of traceEvents. A text in one of the two files can be a number in the other.
struct PaddleEvent {
  std::string name;
  std::string category;
  bool isBegin = false;
  PythonNumber ts;
  std::string tid;
  std::string color;
};

/// The texts that the script replaces by numbers in the file for Perfetto, wherever they stand.
using Replaced = std::map<std::string, std::int64_t, std::less<>>;

void appendText(std::string& out, std::string_view text, const Replaced& replaced) {
  const auto found = replaced.find(text);
  if (found == replaced.end()) return appendPythonString(out, text);
  out += std::to_string(found->second);
}

/// The folders machine<i>, in the natural order of their names.
std::vector<fs::path> machineFolders(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const bool isMachine = it->path().filename().string().starts_with(log_format::kMachinePrefix);
    if (isMachine && fs::is_directory(it->path(), ignored)) found.push_back(it->path());
  }
  if (error) throw Error("cannot look into the folder " + folder + ": " + error.message());
  if (found.empty()) {
    throw Error("there is no folder machine<i> in " + folder +
                "; leave --multi_machine out for the logs of one machine");
  }
  const auto order = [](const fs::path& path) {
    const std::string name = path.filename().string();
    const auto number =
        parseNumber<std::int64_t>(std::string_view(name).substr(log_format::kMachinePrefix.size()));
    return std::pair(number.value_or(std::numeric_limits<std::int64_t>::max()), name);
  };
  std::sort(found.begin(), found.end(),
            [&](const fs::path& a, const fs::path& b) { return order(a) < order(b); });
  return found;
}

std::string contentsOf(const std::string& path) {
  refuseFifo(path);
  ByteSource source(path);
  std::string text;
  std::vector<char> piece(std::size_t{1} << 20);
  for (std::size_t got = 0; (got = source.read(piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), got);
  }
  return text;
}

class Converter {
 public:
  Converter(const PaddleRequest& request, OutputSet& files, Diagnostics& diagnostics)
      : request_(request), files_(files), diagnostics_(diagnostics) {}

  PaddleSummary convert() {
    check();
    if (request_.multiMachine) {
      const auto folders = machineFolders(request_.logFolder);
      machines_ = static_cast<std::int64_t>(folders.size());
      std::int64_t machine = 0;
      for (const fs::path& folder : folders) {
        startStep_ = std::max(addMachine(folder.string(), machine++), startStep_);
      }
    } else {
      startStep_ = addMachine(request_.logFolder, -1);
    }
    if (!is2023()) addSteps();
    return write();
  }

 private:
  bool is2023() const { return request_.style == PaddleStyle::k2023; }

  void complain(std::string message, std::string advice) {
    diagnostics_.add(
        {.file = request_.logFolder, .message = std::move(message), .advice = std::move(advice)});
  }

  void check() {
    if (request_.devices.empty()) throw Error("name the devices to convert: --devices 0,1,…");
    if (is2023() && request_.multiMachine) {
      throw Error("the converter of 2023 knows one machine only; leave --multi_machine out");
    }
    for (std::size_t i = 0; i < request_.devices.size(); ++i) {
      if (request_.devices[i] < 0) throw Error("a device is a number from 0");
      // The script gives numbers to the names GPU0, GPU1, … up to the number of devices.
      if (static_cast<std::size_t>(request_.devices[i]) >= request_.devices.size()) {
        complain("device " + std::to_string(request_.devices[i]) +
                     " keeps its name for a tid in the profile for Perfetto, as with "
                     "PaddlePaddle's script, which counts devices from 0",
                 "pipe-trace FOLDER -o profile.json has no such limit");
      }
    }
  }

  /// Returns the first step that the last device's log says, as the script does.
  std::int64_t addMachine(const std::string& folder, std::int64_t machine) {
    std::int64_t startStep = 0;
    for (const int device : request_.devices) {
      const std::string path =
          (fs::path(folder) / (std::string(log_format::kFilePrefix) + std::to_string(device)))
              .string();
      logs_.push_back(path);
      const PaddleLog log = readPaddleLog(contentsOf(path), path, diagnostics_);
      startStep = log.startStep;
      std::string tid = "GPU" + std::to_string(device);
      if (machine >= 0) tid += "(machine:" + std::to_string(machine) + ")";
      const std::size_t before = events_.size();
      if (is2023()) {
        addJobsOf2023(log, tid, path);
      } else {
        addJobs(log, tid);
      }
      if (events_.size() == before) {
        diagnostics_.add({.file = path,
                          .message = "no job in it",
                          .advice = is2023() ? ""
                                             : "PaddlePaddle's script makes a step of it "
                                               "that begins at 0, and so does this profile"});
      }
    }
    return startStep;
  }

  bool isSkipped(const std::string& type) const {
    const std::vector<std::string>& types = request_.skippedTypes;
    if (!types.empty()) return std::find(types.begin(), types.end(), type) != types.end();
    return is2023() ? type == "lr" : type == "recv_forward" || type == "send_backward";
  }

  void addPair(std::string name, const PaddleLogJob& job, const std::string& tid,
               std::string_view color) {
    ++jobs_;
    events_.push_back({name, job.type, true, {job.begin}, tid, std::string(color)});
    events_.push_back({std::move(name), job.type, false, {job.end}, tid, std::string(color)});
  }

  void addJobs(const PaddleLog& log, const std::string& tid) {
    std::vector<Step> steps;
    Step step{{0, true}, {0, true}};
    std::string firstType;
    for (const PaddleLogJob& job : log.jobs) {
      if (isSkipped(job.type)) continue;
      if (job.type != "default" && firstType.empty()) firstType = job.type;
      if (job.type == firstType && job.microBatch == "0") {
        if (step.begin.value != 0) steps.push_back(step);
        step.begin = {job.begin};
      }
      step.end = {job.end};
      addPair(job.type + "_" + job.id, job, tid, colorOf(job.type));
    }
    steps.push_back(step);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps_.size() <= i) steps_.emplace_back();
      steps_[i].begin = least(steps_[i].begin, steps[i].begin);
      steps_[i].end = greatest(steps_[i].end, steps[i].end);
    }
  }

  void addJobsOf2023(const PaddleLog& log, const std::string& tid, const std::string& path) {
    for (const PaddleLogJob& job : log.jobs) {
      if (isSkipped(job.type)) continue;
      const std::string_view color = colorOf(job.type);
      if (color.empty()) {
        diagnostics_.add({.file = path,
                          .message = "a job of a type that the converter of 2023 stops at was "
                                     "written without colour"});
      }
      addPair(initialOf(job.type) + "_" + job.id, job, tid, color);
    }
  }

  /// The first letter, in upper case if it is one of a to z.
  static std::string initialOf(const std::string& type) {
    std::size_t size = 1;
    while (size < type.size() && (static_cast<unsigned char>(type[size]) & 0xc0) == 0x80) ++size;
    std::string letter = type.substr(0, size);
    if (size == 1 && letter[0] >= 'a' && letter[0] <= 'z') letter[0] -= 'a' - 'A';
    return letter;
  }

  void addSteps() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      PythonNumber begin = steps_[i].begin;
      if (i > 0) begin = greatest(begin, steps_[i - 1].end);
      const std::string name = "step" + std::to_string(static_cast<std::int64_t>(i) + startStep_);
      events_.push_back({name, "step", true, begin, "Step", std::string(kNoColor)});
      events_.push_back({name, "step", false, steps_[i].end, "Step", std::string(kNoColor)});
    }
  }

  std::int64_t deviceCount() const { return static_cast<std::int64_t>(request_.devices.size()); }

  Replaced replacedNames() const {
    Replaced replaced;
    if (!is2023()) replaced["Step"] = kStepTid;
    for (std::int64_t machine = 0; machine < machines_; ++machine) {
      for (std::int64_t device = 0; device < deviceCount(); ++device) {
        std::string name = "GPU" + std::to_string(device);
        if (machines_ > 1) name += "(machine:" + std::to_string(machine) + ")";
        replaced[name] = tidOf(machine, device);
      }
    }
    return replaced;
  }

  std::int64_t tidOf(std::int64_t machine, std::int64_t device) const {
    return is2023() ? device : kStepTid + 1 + machine * deviceCount() + device;
  }

  void appendEvent(std::string& out, const PaddleEvent& event, const Replaced& replaced) const {
    const std::string pid = is2023() ? "\"Main\"" : "0";
    out += "{\"name\": ";
    appendText(out, event.name, replaced);
    out += ", \"cat\": ";
    appendText(out, event.category, replaced);
    out += event.isBegin ? ", \"ph\": \"B\"" : ", \"ph\": \"E\"";
    // The script's dictionaries differ in the order of their keys, and that of a step is always the
    // same.
    const bool pidFirst = !event.isBegin && event.tid != "Step";
    if (pidFirst) out += ", \"pid\": " + pid;
    out += ", \"ts\": ";
    event.ts.append(out);
    if (!pidFirst) out += ", \"pid\": " + pid;
    out += ", \"tid\": ";
    appendText(out, event.tid, replaced);
    if (!event.color.empty()) out += ", \"cname\": \"" + event.color + "\"";
    out += '}';
  }

  static void appendName(std::string& out, const std::string& name, const std::string& pid,
                         std::int64_t tid) {
    out +=
        ", {\"args\": {\"name\": \"" + name +
        "\"}, \"cat\": \"__metadata\", \"name\": \"thread_name\", \"ph\": \"M\", \"pid\": " + pid +
        ", \"tid\": " + std::to_string(tid) + ", \"ts\": 0}";
  }

  std::string names() const {
    std::string out;
    if (!is2023()) appendName(out, "STEP", "0", kStepTid);
    for (std::int64_t machine = 0; machine < machines_; ++machine) {
      for (std::int64_t device = 0; device < deviceCount(); ++device) {
        std::string name = "GPU";
        if (!is2023()) name += ":" + std::to_string(device);
        if (machines_ > 1) name += "(machine:" + std::to_string(machine) + ")";
        appendName(out, name, is2023() ? "\"Main\"" : "0", tidOf(machine, device));
      }
    }
    return out;
  }

  void writeTo(OutputFile& file, const Replaced& replaced, std::string_view tail) const {
    std::string text = "{\"traceEvents\": [";
    bool isFirst = true;
    for (const PaddleEvent& event : events_) {
      if (!isFirst) text += ", ";
      isFirst = false;
      appendEvent(text, event, replaced);
      if (text.size() < kPiece) continue;
      file.write(text);
      text.clear();
    }
    if (isFirst && !tail.empty())
      tail.remove_prefix(2);  // there is no event before it to separate it from
    text += tail;
    file.write(text + "]}");
  }

  PaddleSummary write() {
    PaddleSummary summary;
    summary.profile = (fs::path(request_.logFolder) / "pipeline_profile.json").string();
    summary.perfettoProfile =
        (fs::path(request_.logFolder) / "pipeline_profile_perfetto.json").string();
    summary.jobs = jobs_;
    summary.steps = static_cast<std::int64_t>(steps_.size());
    summary.machines = machines_;
    for (const std::string& output : {summary.profile, summary.perfettoProfile}) {
      refuseInput(output, logs_);
    }
    writeTo(files_.add(summary.profile), {}, "");
    writeTo(files_.add(summary.perfettoProfile), replacedNames(), names());
    return summary;
  }

  static constexpr std::int64_t kStepTid = 2333;
  static constexpr std::size_t kPiece = std::size_t{1} << 18;

  const PaddleRequest& request_;
  OutputSet& files_;
  Diagnostics& diagnostics_;
  std::vector<std::string> logs_;  // that were read
  std::vector<PaddleEvent> events_;
  std::vector<Step> steps_;
  std::int64_t startStep_ = 0;
  std::int64_t machines_ = 1;
  std::int64_t jobs_ = 0;
};

}  // namespace

PaddleSummary writePaddleProfiles(const PaddleRequest& request, OutputSet& files,
                                  Diagnostics& diagnostics) {
  return Converter(request, files, diagnostics).convert();
}

}  // namespace pipetrace
