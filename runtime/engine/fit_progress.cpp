#include "runtime/engine/fit_progress.h"

#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "runtime/engine/say.h"

namespace pipetrace {
namespace {

constexpr double kSecondsBetween = 0.2;  // two times that the line is shown

template <typename... Values>
std::string formatted(const char* format, Values... values) {
  char text[96];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// "1:05:00" or "5:00".
std::string asClock(double seconds) {
  const long long all = std::llround(seconds);
  constexpr int kMinute = 60;
  const long long minutes = all / kMinute;
  const auto rest = static_cast<int>(all % kMinute);
  if (minutes < kMinute) return formatted("%lld:%02d", minutes, rest);
  return formatted("%lld:%02lld:%02d", minutes / kMinute, minutes % kMinute, rest);
}

std::string lossOf(const StepReport& report) {
  return " loss " + withFourDigits(report.loss) + textOf(report.metrics);
}

std::string speedsOf(const StepReport& report, const FitOptions& options) {
  std::string text;
  if (report.samplesPerSecond > 0) {
    if (!options.itemName.empty()) {
      const double items = report.samplesPerSecond * options.itemsPerSample;
      text += ", " + std::to_string(std::llround(items)) + " " + options.itemName + "/s";
    }
    text += ", " + std::to_string(std::llround(report.samplesPerSecond)) + " samples/s";
  }
  if (report.mfu > 0) text += formatted(", MFU %.3f", report.mfu);
  if (!report.overflow.empty()) text += ", left out: " + report.overflow;
  return text;
}

}  // namespace

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string withFourDigits(double value) { return formatted("%.4f", value); }

std::string textOf(const std::map<std::string, double>& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) text += ", " + name + " " + withFourDigits(value);
  return text;
}

std::string lineOf(const StepReport& report, const FitOptions& options) {
  return "step " + std::to_string(report.step) + lossOf(report) + speedsOf(report, options);
}

FitProgress::FitProgress(const EngineShared& shared, SessionRank& rank, const FitOptions& options,
                         int steps)
    : shared_(shared), rank_(rank), options_(options), steps_(steps) {
  if (options_.logFreq <= 0) return;
  const bool own = !shared_.options.print && isStdoutATerminal();
  std::vector<double> isOnTerminal{own ? 1.0 : 0.0};
  rank_.hosts().broadcast(shared_.reporter(), isOnTerminal);
  isOnTerminal_ = isOnTerminal.at(0) != 0;
}

FitProgress::~FitProgress() {
  if (isOnTerminal_ && reports()) endProgress();
}

void FitProgress::stepEnded(const StepReport& report, double seconds, Nanoseconds computed) {
  const bool isLast = report.step + 1 == steps_;
  if (reports()) unshown_ = report;
  if (!isOnTerminal_) {
    const bool isDue = options_.logFreq > 0 && (report.step % options_.logFreq == 0 || isLast);
    if (isDue) showPlain();
    return;
  }
  if (seen_++ == 0) {
    // The first step also has what is done once, which says nothing about the others.
    before_ = computed;
    begun_ = Clock::now();
  } else {
    seconds_ += seconds;
  }
  if (report.step < next_ && !isLast) return;
  const std::optional<double> ratio = bubbleRatio(computed);
  // With what lies between steps: callbacks, evaluations, saves.
  const double each = seen_ > 1 ? secondsSince(begun_) / (seen_ - 1) : seconds;
  if (reports()) show(ratio, each);
  const double between = each > 0 ? std::min(1e6, kSecondsBetween / each) : 1;
  std::vector<double> next{report.step + std::max(1.0, std::ceil(between))};
  rank_.hosts().broadcast(shared_.reporter(), next);
  next_ = static_cast<int>(next.at(0));
}

void FitProgress::close(const std::string& why) {
  if (!reports()) return;
  if (isOnTerminal_) {
    if (unshown_) show(std::nullopt, 0);
    endProgress();
  } else if (options_.logFreq > 0) {
    showPlain();
  }
  if (!why.empty()) shared_.print(why);
}

void FitProgress::showPlain() {
  if (unshown_) shared_.print(lineOf(*unshown_, options_));
  unshown_.reset();
}

std::optional<double> FitProgress::bubbleRatio(Nanoseconds computed) {
  if (rank_.device() != nullptr) return std::nullopt;
  const double busy = static_cast<double>(computed - before_) / kNsPerSecond;
  double sumBusy = 0;
  double sumAll = 0;
  for (const std::vector<at::Tensor>& each : rank_.hosts().gather(
           shared_.allRanks(), shared_.reporter(),
           {at::scalar_tensor(busy, at::kDouble), at::scalar_tensor(seconds_, at::kDouble)})) {
    sumBusy += each.at(0).item<double>();
    sumAll += each.at(1).item<double>();
  }
  if (sumAll <= 0) return std::nullopt;
  return 1 - sumBusy / sumAll;
}

void FitProgress::show(std::optional<double> bubbleRatio, double each) {
  const StepReport& report = *unshown_;
  std::string line = "step " + std::to_string(report.step) + lossOf(report);
  // First what a narrow terminal is to show.
  if (bubbleRatio) line += formatted(", bubble ratio %.3f", *bubbleRatio);
  const int left = steps_ - report.step - 1;
  if (left > 0 && each > 0) {
    line += ", " + std::to_string(left) + " steps left (" + asClock(left * each) + ")";
  }
  showProgress(line + speedsOf(report, options_));
  unshown_.reset();
}

}  // namespace pipetrace
