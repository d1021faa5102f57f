#include "viewer/loaded_profile.h"

#include <algorithm>
#include <utility>

#include "parser/load_timeline.h"

namespace pipetrace {
namespace {

bool hasBubbles(const Timeline& timeline) {
  return std::any_of(timeline.tracks.begin(), timeline.tracks.end(), [](const Track& track) {
    return track.lane == kBubbleLane && !track.events.empty();
  });
}

}  // namespace

LoadedProfile::LoadedProfile(std::string name, Timeline timeline, Diagnostics diagnostics)
    : name_(std::move(name)), timeline_(std::move(timeline)), diagnostics_(std::move(diagnostics)) {
  completeTimeline(timeline_, diagnostics_);
  summary_ = summarize(timeline_);
  if (!hasBubbles(timeline_)) {
    appendBubbles(timeline_, summary_);
    timeline_.sort();
  }
  model_ = std::make_unique<const ChartModel>(timeline_);
}

std::unique_ptr<const LoadedProfile> loadProfile(const std::vector<std::string>& inputs) {
  std::string name = inputs.empty() ? std::string() : inputs.front();
  if (inputs.size() > 1) name += " and " + std::to_string(inputs.size() - 1) + " more";
  Diagnostics diagnostics;
  Timeline timeline = loadTimeline(inputs, LoadOptions{}, diagnostics);
  return std::make_unique<const LoadedProfile>(std::move(name), std::move(timeline),
                                               std::move(diagnostics));
}

}  // namespace pipetrace
