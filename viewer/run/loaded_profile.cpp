#include "viewer/run/loaded_profile.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

constexpr std::size_t kRoomForNames = 1 << 16;

bool hasBubbles(const Timeline& timeline) {
  return std::any_of(timeline.tracks.begin(), timeline.tracks.end(), [](const Track& track) {
    return track.lane == kBubbleLane && !track.events.empty();
  });
}

}  // namespace

LoadedProfile::LoadedProfile(std::string name, Timeline timeline, Diagnostics diagnostics)
    : name_(std::move(name)),
      timeline_(std::move(timeline)),
      diagnostics_(std::move(diagnostics)),
      model_(std::make_unique<ChartModel>(timeline_)) {
  // So that add() need not copy them.
  timeline_.arguments.reserve(timeline_.arguments.size() + kRoomForNames);
}

LoadedProfile::LoadedProfile(std::string name, ReadyRun run, Diagnostics diagnostics)
    : LoadedProfile(std::move(name), std::move(run.timeline), std::move(diagnostics)) {
  summary_ = std::move(run.summary);
  isClassified_ = true;
}

std::string profileName(const std::vector<std::string>& inputs) {
  if (inputs.size() < 2) return inputs.empty() ? std::string() : inputs.front();
  return inputs.front() + " and " + std::to_string(inputs.size() - 1) + " more";
}

void LoadedProfile::add(FoundBubbles found) {
  summary_ = std::move(found.summary);
  isClassified_ = true;
  if (found.lanes.tracks.empty()) return;
  joinBubbles(timeline_, std::move(found.lanes));
  model_->add(std::move(found.indexed));
}

std::unique_ptr<LoadedProfile> readProfile(const std::vector<std::string>& inputs, AlignBy align,
                                           LoadProgress* progress) {
  RunRequest request{.inputs = inputs, .align = align, .profilesAsWritten = true};
  request.reading.program = "pipe-view";
  request.reading.progress = progress;
  Diagnostics diagnostics;
  Timeline timeline = loadRun(request, diagnostics);
  return std::make_unique<LoadedProfile>(profileName(inputs), std::move(timeline),
                                         std::move(diagnostics));
}

FoundBubbles findBubbles(const LoadedProfile& profile, Explanation& explanation) {
  explanation = classifiedRun(profile.timeline(), 0);
  FoundBubbles found;
  found.summary = explanation.summary;
  if (hasBubbles(profile.timeline())) return found;
  found.lanes = bubbleLanes(profile.timeline(), *explanation.graph, explanation.bubbles, 0);
  addOtherPhases(profile.timeline(), explanation.topology, explanation.summary, found.lanes, 0);
  found.indexed = ChartModel::indexed(found.lanes.tracks);
  return found;
}

std::unique_ptr<const LoadedProfile> loadProfile(const std::vector<std::string>& inputs,
                                                 AlignBy align) {
  std::unique_ptr<LoadedProfile> profile = readProfile(inputs, align);
  Explanation explanation;
  profile->add(findBubbles(*profile, explanation));
  return profile;
}

}  // namespace pipetrace
