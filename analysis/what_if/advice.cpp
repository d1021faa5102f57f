#include "analysis/what_if/advice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "analysis/causes/findings.h"
#include "analysis/run/steps/median_step.h"
#include "analysis/what_if/plan_advice.h"
#include "analysis/what_if/run_advice.h"
#include "analysis/what_if/run_blocks.h"
#include "analysis/what_if/what_if.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

std::string percentOfStep(double share) {
  return percentText(std::llround(share * 1e6), 1'000'000);
}

/// The first schedule that a framework has; null: none.
const Advice* scheduleOf(const std::string& framework, const std::vector<Advice>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Advice& advice) {
    return advice.of == Advice::Of::kSchedule &&
           std::any_of(advice.options.begin(), advice.options.end(), [&](const auto& each) {
             return each.framework == framework && each.exists;
           });
  });
  return found == all.end() ? nullptr : &*found;
}

/// "415 ms, 27.9 % less".
std::string stepAndGain(const Advice& advice) {
  const auto said = [](Nanoseconds step, double gain) {
    return formatDuration(step) + ", " + percentOfStep(std::abs(gain)) +
           (gain < 0 ? " more" : " less");
  };
  std::string text = said(advice.step, advice.gain);
  if (advice.dependsOnOrder()) {
    text +=
        ", or with messages one after the other " + said(advice.inLine->step, advice.inLine->gain);
  }
  return text;
}

/// Says where a framework cannot have the best schedule which one it has. `all` and `overLimit`
/// (more than a rank may hold): the best first.
void addBestOfFrameworks(Advice& best, const std::vector<Advice>& all,
                         const std::vector<Advice>& overLimit) {
  for (FrameworkOption& option : best.options) {
    if (option.exists) continue;
    if (const Advice* const own = scheduleOf(option.framework, all)) {
      option.text += "; its best: " + own->what + ", " + stepAndGain(*own);
      continue;
    }
    const Advice* const large = scheduleOf(option.framework, overLimit);
    if (large == nullptr || large->gain <= AdviceList::kLeastGain) continue;
    option.text += "; its best is over the limit: " + large->what + ", " +
                   percentOfStep(large->gain) + " less, with " + fixedText(large->peak, 2) +
                   " activations of a rank";
  }
}

bool isGain(const Advice& advice) {
  return advice.gain > AdviceList::kLeastGain && advice.gain > advice.error;
}

/// Whether the simulation of the run as it was is so far off that no other plan is simulated.
bool isOff(const AdviceList& list) {
  return list.modelError && std::abs(*list.modelError) > WhatIfAnswer::kMostError;
}

bool isOverLimit(const AdviceList& list) { return list.limit < list.peak - 1e-6; }

/// The best of each kind that gains more than the least and more than its own error. With
/// `launchesLast` those come after all others.
std::vector<Advice> bestOf(std::vector<Advice> all, bool launchesLast,
                           const std::vector<Advice>& overLimit) {
  std::erase_if(all, [](const Advice& each) { return !isGain(each); });
  std::stable_sort(all.begin(), all.end(), [&](const Advice& a, const Advice& b) {
    const bool isLaunchA = launchesLast && a.of == Advice::Of::kLaunches;
    const bool isLaunchB = launchesLast && b.of == Advice::Of::kLaunches;
    return isLaunchA != isLaunchB ? isLaunchB : a.meanGain() > b.meanGain();
  });
  std::vector<Advice> best;
  std::set<Advice::Of> kinds;
  for (const Advice& each : all) {
    if (best.size() == AdviceList::kMostAdvice) break;
    if (!kinds.insert(each.of).second) continue;
    best.push_back(each);
    if (each.of == Advice::Of::kSchedule) addBestOfFrameworks(best.back(), all, overLimit);
  }
  return best;
}

/// The blocks of the model: those of the question, or as the logs name them, which `options` then
/// says.
std::optional<RunBlocks> blocksOf(const Timeline& timeline, const AdviceQuestion& question,
                                  std::string& options, std::vector<std::string>& notes) {
  if (question.blocks) return runBlocks(*question.blocks, timeline);
  try {
    if (!loggedPartition(timeline)) return std::nullopt;
    options = "--blocks equal";
    return runBlocks({}, timeline);
  } catch (const Error& error) {
    notes.emplace_back(error.what());
    return std::nullopt;
  }
}

constexpr const char* kNoActivationBytes =
    "--limit needs to know what an activation takes: give --activation-gb, or --blocks FILE with "
    "the activation_bytes of the blocks";

void requireActivationBytes(const AdviceQuestion& question) {
  if (!question.limitBytes || question.activationBytes) return;
  const auto holds = [](const BlockCosts& block) { return block.activation > 0; };
  const std::vector<BlockCosts> none;
  const auto& blocks =
      question.blocks && question.blocks->table ? question.blocks->table->blocks : none;
  if (std::none_of(blocks.begin(), blocks.end(), holds)) throw Error(kNoActivationBytes);
}

/// The most activations that a rank may hold, in whole shares; none: as many as the run's. `notes`
/// gets what a limit in bytes comes to.
std::optional<double> limitOf(const AdviceQuestion& question, const RunModel& model,
                              std::vector<std::string>& notes) {
  if (question.activationLimit || !question.limitBytes) return question.activationLimit;
  const double ofTable = model.activationBytes();
  const double bytes = question.activationBytes.value_or(ofTable);
  if (bytes <= 0) throw Error(kNoActivationBytes);  // all of it runs again
  const double limit = *question.limitBytes / bytes;
  const auto sizeOf = [](double size) { return bytesText(std::llround(size)); };
  std::string text = "the limit of " + sizeOf(*question.limitBytes) + " is " + fixedText(limit, 2) +
                     " activations of " + sizeOf(bytes) + " each, ";
  if (!question.activationBytes) {
    text += "the mean of the ranks by the activation_bytes of --blocks";
  } else {
    text += "as --activation-gb says";
    if (ofTable > 0) text += "; by the activation_bytes of --blocks one takes " + sizeOf(ofTable);
  }
  notes.push_back(std::move(text));
  return limit;
}

/// On processors that cannot be modeled they are waits for each other.
void leaveOutLaunches(std::vector<Advice>& all, std::vector<std::string>& notes) {
  std::erase_if(all, [&](const Advice& each) {
    if (each.of != Advice::Of::kLaunches) return false;
    if (isGain(each)) {
      notes.push_back(each.what + ": the step would take " + formatDuration(each.step) + ", " +
                      percentOfStep(each.gain) +
                      " less; that is no advice, as the logs name no GPU, and ranks on processors "
                      "wait for one of these");
    }
    return true;
  });
}

/// Adds the advice of simulations to `all`, the schedules over the limit to `overLimit`, and to
/// `list` what they say of the run.
void adviseOnPlans(const RunModel& model, const AdviceQuestion& question,
                   const std::string& blockOptions, int threads, AdviceList& list,
                   std::vector<Advice>& all, std::vector<Advice>& overLimit) {
  if (!model.reason().empty()) {
    list.notes.push_back("other plans were not simulated: " + model.reason());
    return;
  }
  list.microBatches = model.plan().numMicroBatches;
  const std::optional<double> limit = limitOf(question, model, list.notes);
  try {
    PlanAdvisor advisor(model, {.step = list.step, .pause = list.paid() - list.step}, threads,
                        question.logs, blockOptions, question.progress);
    list.simulatedStep = advisor.step();
    list.modelError = static_cast<double>(advisor.step()) / static_cast<double>(list.step) - 1;
    list.peak = advisor.peak();
    list.limit = limit.value_or(list.peak);
    if (isOverLimit(list)) list.notes.emplace_back("the run itself holds more than the limit");
    if (isOff(list)) {
      list.notes.push_back(
          "other plans were not simulated: the simulation of the run as it was is off by " +
          percentOfStep(std::abs(*list.modelError)) + ", more than " +
          percentOfStep(WhatIfAnswer::kMostError) +
          "; where ranks share processors, pipe-run rehearse --costs-from has devices of its own");
      return;
    }
    std::vector<Advice> ofPlans =
        advisor.advice(list.limit, std::abs(*list.modelError), list.notes, question.mostJobs);
    for (const std::string& ground : model.assumptions()) {
      list.notes.push_back("in the simulations " + ground);
    }
    list.tried += advisor.tried();
    overLimit = advisor.schedulesOverLimit();
    if (model.blocks()) {
      // The best partition of whole blocks, or none, is what balancing stages comes to.
      std::erase_if(all, [](const Advice& each) { return each.of == Advice::Of::kBalance; });
    }
    std::move(ofPlans.begin(), ofPlans.end(), std::back_inserter(all));
  } catch (const Error& error) {
    if (question.progress != nullptr && question.progress->isCancelled) throw;
    list.notes.push_back(std::string("other plans were not simulated: ") + error.what());
  }
}

}  // namespace

void AdviceProgress::next() {
  if (isCancelled) throw Error("the advice was cancelled");
  ++tried;
}

AdviceList adviceOn(const Run& run, const AdviceQuestion& question) {
  requireActivationBytes(question);
  const Timeline& timeline = run.timeline();
  if (run.graph().ranks().empty()) {
    throw Error("the inputs hold no compute job, so there is nothing to advise on");
  }
  const CountedSteps counted = run.usualSteps(question.steps);
  AdviceList list{.notes = counted.leftOutTexts()};
  const MedianStep step = medianStepOf(run.summary(), counted);
  list.step = step.window;
  if (step.hasPauses()) list.wall = step.wall;
  list.meanStep = std::llround(meanStepOf(run.summary(), counted).paid(list.wall.has_value()));
  list.isWholeRun = step.isWholeRun;
  if (list.step <= 0) throw Error("no step that counts has any length");
  const RunAgain again(run, counted);
  list.schedule = toText(run.schedule().recognised);
  if (run.schedule().lacksUpdates) list.notes.push_back(run.schedule().givenText());
  std::vector<Advice> all = adviceOfRun({.run = run,
                                         .again = again,
                                         .counted = counted,
                                         .step = list.step,
                                         .wall = list.wall,
                                         .progress = question.progress,
                                         .logs = question.logs});
  const auto variation = std::find_if(
      all.begin(), all.end(), [](const Advice& each) { return each.of == Advice::Of::kVariation; });
  if (variation != all.end()) {
    list.ofRun.push_back(std::move(*variation));
    all.erase(variation);
  }
  list.tried = static_cast<int>(all.size());
  const bool isPassedOn = run.graph().inside().empty() && run.graph().areLinesHeld();
  const auto isOfRank = [&](const Advice& each) {
    return each.of == Advice::Of::kOptimizer || !each.lateRanks.empty() ||
           (isPassedOn && (each.of == Advice::Of::kRank || each.of == Advice::Of::kStage));
  };
  std::copy_if(all.begin(), all.end(), std::back_inserter(list.ofRun), isOfRank);
  if (!run.graph().inside().empty()) {
    const auto isOfFinding = [](const Advice& each) {
      return each.of == Advice::Of::kRank || each.of == Advice::Of::kLoad ||
             each.of == Advice::Of::kGroup || each.of == Advice::Of::kWeights ||
             each.of == Advice::Of::kContention || each.of == Advice::Of::kBalance ||
             each.of == Advice::Of::kData || each.of == Advice::Of::kStage;
    };
    std::copy_if(all.begin(), all.end(), std::back_inserter(list.ofRun), isOfFinding);
  }
  std::erase_if(all, [](const Advice& each) { return each.of == Advice::Of::kStage; });
  std::string blockOptions = question.blockOptions;
  const std::optional<RunBlocks> blocks = blocksOf(timeline, question, blockOptions, list.notes);
  const auto modelWith = [&](const RunBlocks* of) { return RunModel(run, again, counted, of); };
  const RunModel model = [&] {
    if (question.blocks || !blocks) return modelWith(blocks ? &*blocks : nullptr);
    try {
      return modelWith(&*blocks);
    } catch (const Error& error) {
      list.notes.emplace_back(error.what());
      return modelWith(nullptr);
    }
  }();
  std::vector<Advice> overLimit;
  adviseOnPlans(model, question, blockOptions, run.threads(), list, all, overLimit);
  if (isOff(list) && runsOnProcessors(timeline)) leaveOutLaunches(all, list.notes);
  list.best = bestOf(std::move(all), isOff(list), overLimit);
  if (isOverLimit(list)) {
    for (Advice& each : list.best) {
      if (each.isByModel) continue;
      each.notes.push_back("a rank still holds " + fixedText(list.peak, 2) +
                           " activations, more than the limit");
    }
  }
  return list;
}

}  // namespace pipetrace
