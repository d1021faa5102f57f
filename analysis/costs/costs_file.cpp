#include "analysis/costs/costs_file.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/costs/cost_numbers.h"
#include "schedule/file/schedule_cell.h"
#include "trace/error.h"
#include "trace/text/number_with_point.h"

namespace pipetrace {
namespace {

constexpr std::string_view kBandwidth = "bandwidth_gbs";
constexpr std::string_view kJobs = "jobs_ms";
constexpr double kGiga = 1e9;

struct StageKey {
  std::string_view name;
  GivenCosts::Values GivenCosts::*values;
};
constexpr StageKey kStageKeys[] = {{"forward_ms", &GivenCosts::forward},
                                   {"backward_ms", &GivenCosts::backward},
                                   {"backward_input_ms", &GivenCosts::backwardInput},
                                   {"backward_weight_ms", &GivenCosts::backwardWeight},
                                   {"forward_backward_ms", &GivenCosts::forwardBackward},
                                   {"recompute_ms", &GivenCosts::recompute},
                                   {"reduce_ms", &GivenCosts::reduction},
                                   {"activation_bytes", &GivenCosts::activation},
                                   {"freed_by_input_bytes", &GivenCosts::freedByInput},
                                   {"recomputed_bytes", &GivenCosts::recomputed},
                                   {"working_bytes", &GivenCosts::working},
                                   {"weights_bytes", &GivenCosts::weights},
                                   {"message_bytes", &GivenCosts::message},
                                   {"blocks", &GivenCosts::blocks}};

struct TimeKey {
  std::string_view name;
  Nanoseconds GivenCosts::*time;
};
constexpr TimeKey kTimeKeys[] = {{"transfer_ms", &GivenCosts::transfer},
                                 {"lr_ms", &GivenCosts::lr},
                                 {"optimizer_ms", &GivenCosts::optimizer},
                                 {"agree_ms", &GivenCosts::agreement}};

std::string knownKeys() {
  std::string text;
  for (const StageKey& key : kStageKeys) text += std::string(key.name) + ", ";
  for (const TimeKey& key : kTimeKeys) text += std::string(key.name) + ", ";
  return text + std::string(kBandwidth) + ", " + std::string(kJobs);
}

/// Reads the numbers while the text is parsed: times need their digits, which a parsed document has
/// lost.
class CostsHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit CostsHandler(const std::string& name) : name_(name) {}

  GivenCosts take() {
    if (!hasObject_) failFile("is empty; a costs file is an object like {\"forward_ms\": 10}");
    return std::move(given_);
  }

  bool null() override { return noNumber("null"); }
  bool boolean(bool) override { return noNumber("true or false"); }
  bool string(string_t&) override { return noNumber("text"); }
  bool binary(binary_t&) override { return noNumber("text"); }
  bool number_integer(number_integer_t value) override {
    return number(std::to_string(value), static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(std::to_string(value), static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return number(numberWithPoint(text), value);
  }

  bool start_object(std::size_t) override {
    if (hasObject_ && key_ == kJobs && !inArray_ && !inJobs_) return inJobs_ = true;
    if (hasObject_) return noNumber("an object");
    return hasObject_ = true;
  }
  bool end_object() override {
    inJobs_ = false;
    return true;
  }
  bool key(string_t& key) override {
    if (inJobs_) return jobKey(key);
    key_ = key;
    if (!seen_.insert(key).second) fail("occurs twice in the file");
    const auto isThis = [&](const auto& known) { return known.name == key; };
    const auto stageKey = std::find_if(std::begin(kStageKeys), std::end(kStageKeys), isThis);
    const auto timeKey = std::find_if(std::begin(kTimeKeys), std::end(kTimeKeys), isThis);
    values_ = stageKey == std::end(kStageKeys) ? nullptr : &(given_.*(stageKey->values));
    time_ = timeKey == std::end(kTimeKeys) ? nullptr : &(given_.*(timeKey->time));
    if (values_ == nullptr && time_ == nullptr && key != kBandwidth && key != kJobs) {
      fail("is not a key of costs; the keys are " + knownKeys());
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (!hasObject_ || inArray_ || values_ == nullptr) return noNumber("an array");
    return inArray_ = true;
  }
  bool end_array() override {
    if (values_->empty()) fail("is an empty array; give one number per virtual stage");
    inArray_ = false;
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    throw Error(invalidJson(name_, error));
  }

 private:
  [[noreturn]] void failFile(const std::string& what) const { throw Error(name_ + " " + what); }
  [[noreturn]] void fail(const std::string& what) const {
    std::string where = key_;
    if (inArray_) where += "[" + std::to_string(values_->size()) + "]";
    throw Error(name_ + ": " + where + " " + what);
  }
  bool noNumber(const char* what) const {
    if (!hasObject_ || key_.empty()) {
      failFile("holds no object; a costs file is an object like {\"forward_ms\": 10}");
    }
    fail("is " + std::string(what) + ", not a number" +
         (values_ != nullptr && !inArray_ ? " or an array of numbers" : ""));
  }

  bool number(const std::string& text, double value) {
    if (!hasObject_ || key_.empty()) return noNumber("a number");
    if (value < 0) fail("is " + text + "; no cost is negative");
    if (inJobs_) {
      given_.jobs.back().time = costIn(kJobs, text, failure());
    } else if (key_ == kJobs) {
      fail("is a number; it is an object like {\"2F5\": 7.5}");
    } else if (values_ != nullptr) {
      values_->push_back(costIn(key_, text, failure()));
    } else if (time_ != nullptr) {
      *time_ = costIn(key_, text, failure());
    } else {
      given_.bandwidth = value * kGiga;
      if (!(given_.bandwidth > 0 && std::isfinite(given_.bandwidth))) {
        fail("is " + text + "; a bandwidth is finite and above 0, or left out");
      }
    }
    return true;
  }
  bool jobKey(const std::string& cell) {
    key_ = cell;
    const std::optional<Action> action = parseAction(cell);
    if (action && action->isPart()) {
      fail("is a part of a backward, which has its share of the whole; give that, and blocks");
    }
    if (!action || isTransfer(action->kind) || isAgreement(action->kind)) {
      fail("is no job of a plan; those of jobs_ms are like 2F5, 2B5, 2I5, 2W5, 2R5, 2UNSHARD");
    }
    if (!seen_.insert(std::string(kJobs) + " " + cell).second) fail("occurs twice in jobs_ms");
    given_.jobs.push_back({.action = *action});
    return true;
  }
  std::function<void(const std::string&)> failure() const {
    return [this](const std::string& what) { fail(what); };
  }

  const std::string& name_;
  GivenCosts given_;
  bool hasObject_ = false;
  bool inArray_ = false;
  bool inJobs_ = false;
  std::string key_;
  std::set<std::string> seen_;
  GivenCosts::Values* values_ = nullptr;  // where the numbers of the key go; or
  Nanoseconds* time_ = nullptr;           // where the time goes; both null: the bandwidth
};

}  // namespace

GivenCosts readCostsFile(std::string_view text, const std::string& name) {
  CostsHandler handler(name);
  nlohmann::json::sax_parse(text, &handler, nlohmann::json::input_format_t::json, true, true);
  return handler.take();
}

std::string toCostsFile(const GivenCosts& given) {
  std::string text;
  const auto add = [&text](std::string_view key, const std::string& value) {
    text += (text.empty() ? "{\n  \"" : ",\n  \"") + std::string(key) + "\": " + value;
  };
  for (const StageKey& key : kStageKeys) {
    const GivenCosts::Values& values = given.*key.values;
    std::string list;
    for (const std::int64_t value : values) {
      list += (list.empty() ? "" : ", ") +
              (key.name.ends_with("_ms") ? milliseconds(value) : std::to_string(value));
    }
    if (!values.empty()) add(key.name, values.size() == 1 ? list : "[" + list + "]");
  }
  for (const TimeKey& key : kTimeKeys) {
    if (given.*key.time != 0) add(key.name, milliseconds(given.*key.time));
  }
  std::string jobs;
  for (const GivenCosts::JobTime& job : given.jobs) {
    jobs +=
        (jobs.empty() ? "{" : ", ") + ("\"" + toText(job.action) + "\": ") + milliseconds(job.time);
  }
  if (!jobs.empty()) add(kJobs, jobs + "}");
  if (given.bandwidth != 0) add(kBandwidth, nlohmann::json(given.bandwidth / kGiga).dump());
  return text.empty() ? "{}\n" : text + "\n}\n";
}

}  // namespace pipetrace
