#include "apps/pipe_trace/plan/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>

#include "analysis/costs/costs_file.h"
#include "analysis/costs/measured_costs.h"
#include "apps/pipe_trace/load_and_report.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kMega = 1'000'000;
// Sums over a large plan must not leave int64.
constexpr std::int64_t kLargest = kNsMax / 1'000'000;

struct Unit {
  std::int64_t size;
  const char* name;
};
constexpr Unit kMs{kNsPerMs, "times in milliseconds"};
constexpr Unit kGb{kGiga, "sizes in GB"};
constexpr Unit kMb{kMega, "sizes in MB"};

std::int64_t number(const char* option, std::string_view text, const Unit& unit) {
  const std::optional<std::int64_t> value = parseDecimalTime(text, unit.size);
  if (value && *value >= 0 && *value <= kLargest) return *value;
  if (value && *value > kLargest) {
    throw Error(fmt::format("{} {} is too large: at most {}", option, text, kLargest / unit.size));
  }
  throw Error(fmt::format("{} {}: {} are written like 10 or 0.25", option,
                          text.empty() ? "\"\"" : text, unit.name));
}

/// "10" or "10,12,11,10".
void read(GivenCosts::Values& to, const char* option, const std::string& text, const Unit& unit) {
  if (text.empty()) return;
  to.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    to.push_back(number(option, std::string_view(text).substr(begin, end - begin), unit));
    begin = end + 1;
  }
}

void readTime(Nanoseconds& to, const char* option, const std::string& text) {
  if (!text.empty()) to = number(option, text, kMs);
}

/// Stage by stage, also what all stages share: a run of four stages tells nothing of a fifth.
GivenCosts measured(const std::vector<std::string>& inputs) {
  LoadRunOptions options;
  options.inputs = inputs;
  options.strict = true;
  options.quiet = true;
  Diagnostics diagnostics;
  const Costs run = measuredCosts(loadAndReport(options, diagnostics));
  GivenCosts costs = givenCosts(run);
  costs.forward.resize(run.stages.size(), costs.forward.front());
  costs.activation.clear();  // not in a log
  const auto isZero = [](std::int64_t value) { return value == 0; };
  const bool isWhole =
      std::all_of(costs.backwardInput.begin(), costs.backwardInput.end(), isZero) &&
      std::all_of(costs.backwardWeight.begin(), costs.backwardWeight.end(), isZero);
  if (isWhole) {  // the run did not split its backward passes
    costs.backwardInput.clear();
    costs.backwardWeight.clear();
  }
  return costs;
}

}  // namespace

std::string readText(const std::string& path, const char* what) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Error(fmt::format("cannot read the {} {}: it is a folder", what, path));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) text.assign(std::istreambuf_iterator<char>(in), {});
  if (!in || in.bad()) {
    throw Error(
        fmt::format("cannot read the {} {}: {}", what, path, std::strerror(errno ? errno : EIO)));
  }
  return text;
}

GivenCosts readCosts(const PlanCostOptions& options) {
  if (!options.file.empty()) {
    return readCostsFile(readText(options.file, "costs file"),
                         options.file == "-" ? "standard input" : options.file);
  }
  GivenCosts costs = options.measured.empty() ? GivenCosts{} : measured(options.measured);
  read(costs.forward, "--forward-ms", options.forwardMs, kMs);
  read(costs.backward, "--backward-ms", options.backwardMs, kMs);
  read(costs.backwardInput, "--backward-input-ms", options.backwardInputMs, kMs);
  read(costs.backwardWeight, "--backward-weight-ms", options.backwardWeightMs, kMs);
  read(costs.forwardBackward, "--fused-ms", options.fusedMs, kMs);
  readTime(costs.transfer, "--transfer-ms", options.transferMs);
  readTime(costs.lr, "--lr-ms", options.lrMs);
  readTime(costs.optimizer, "--optimizer-ms", options.optimizerMs);
  read(costs.activation, "--activation-gb", options.activationGb, kGb);
  read(costs.freedByInput, "--freed-by-input-gb", options.freedByInputGb, kGb);
  read(costs.weights, "--weights-gb", options.weightsGb, kGb);
  read(costs.message, "--message-mb", options.messageMb, kMb);
  if (options.bandwidthGbs) {
    costs.bandwidth = *options.bandwidthGbs * kGiga;
    if (!std::isfinite(costs.bandwidth) || costs.bandwidth <= 0) {
      throw Error(
          fmt::format("--bandwidth-gbs {}: a bandwidth is finite and above 0; leave it out "
                      "for messages that take no time on their links",
                      *options.bandwidthGbs));
    }
  }
  return costs;
}

std::int64_t readLimit(const std::string& limitGb, const GivenCosts& costs) {
  if (limitGb.empty()) return 0;
  const std::int64_t limit = number("--limit", limitGb, kGb);
  if (limit == 0) throw Error("--limit 0: nothing fits into no memory");
  if (!costs.hasMemory()) {
    throw Error(
        "--limit needs to know what activations take: give --activation-gb, or a costs file with "
        "activation_bytes (with --activation-gb 1 the limit counts activations)");
  }
  return limit;
}

}  // namespace pipetrace
