#include "viewer/run/loaded_profile.h"

#include <algorithm>
#include <utility>

#include "ingest/output_files.h"
#include "parser/reader_registry.h"

namespace pipetrace {
namespace {

constexpr std::size_t kRoomForNames = 1 << 16;

bool hasBubbles(const Timeline& timeline) {
  return std::any_of(timeline.tracks.begin(), timeline.tracks.end(), [](const Track& track) {
    return track.lane == kBubbleLane && !track.events.empty();
  });
}

/// With room for the names of culprits, so that Run::join() need not copy its arguments.
Run withRoomForNames(Run run) {
  const int threads = run.threads();
  Timeline timeline = std::move(run).takeTimeline();
  timeline.arguments.reserve(timeline.arguments.size() + kRoomForNames);
  return Run(std::move(timeline), threads);
}

}  // namespace

LoadedProfile::LoadedProfile(std::string name, Run run, Diagnostics diagnostics, bool isClassified)
    : name_(std::move(name)),
      run_(withRoomForNames(std::move(run))),
      diagnostics_(std::move(diagnostics)),
      model_(std::make_unique<ChartModel>(run_.timeline(), run_.topology())),
      isClassified_(isClassified) {
  if (isClassified) run_.summary();  // which the window must not wait for
}

void LoadedProfile::cameFrom(std::vector<std::string> inputs, std::vector<LoadedFile> files) {
  inputs_ = std::move(inputs);
  files_ = std::move(files);
}

void LoadedProfile::checkOutput(const std::string& path) const {
  checkOutputFiles({path}, {.inputs = inputs_});
  checkOutputs({path}, files_);
}

const RunSummary& LoadedProfile::summary() const {
  static const RunSummary none;
  return isClassified_ ? run_.summary() : none;
}

std::string profileName(const std::vector<std::string>& inputs) {
  if (inputs.size() < 2) return inputs.empty() ? std::string() : inputs.front();
  return inputs.front() + " and " + std::to_string(inputs.size() - 1) + " more";
}

void LoadedProfile::add(FoundBubbles found) {
  isClassified_ = true;
  doubts_ = std::move(found.doubts);
  if (found.lanes.tracks.empty()) return;
  run_.join(std::move(found.lanes));
  model_->add(std::move(found.indexed));
}

std::unique_ptr<LoadedProfile> readProfile(const std::vector<std::string>& inputs, AlignBy align,
                                           LoadProgress* progress) {
  RunRequest request{.inputs = inputs, .align = align, .profilesAsWritten = true};
  request.reading.program = "pipe-view";
  request.reading.progress = progress;
  Diagnostics diagnostics;
  std::vector<LoadedFile> files;
  Run run = loadRun(request, makeTraceReaders(), diagnostics, &files);
  auto profile =
      std::make_unique<LoadedProfile>(profileName(inputs), std::move(run), std::move(diagnostics));
  profile->cameFrom(inputs, std::move(files));
  return profile;
}

FoundBubbles findBubbles(const LoadedProfile& profile) {
  const Run& run = profile.run();
  run.bubbles();
  FoundBubbles found;
  found.doubts = doubtsOf(run, profile.diagnostics());
  if (hasBubbles(run.timeline())) return found;
  found.lanes = run.bubbleLanes();
  found.indexed = ChartModel::indexed(found.lanes.tracks);
  return found;
}

std::unique_ptr<const LoadedProfile> loadProfile(const std::vector<std::string>& inputs,
                                                 AlignBy align) {
  std::unique_ptr<LoadedProfile> profile = readProfile(inputs, align);
  profile->add(findBubbles(*profile));
  return profile;
}

}  // namespace pipetrace
