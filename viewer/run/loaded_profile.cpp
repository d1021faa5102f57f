#include "viewer/run/loaded_profile.h"

#include <utility>

namespace pipetrace {

LoadedProfile::LoadedProfile(std::string name, ReadyRun run, Diagnostics diagnostics)
    : name_(std::move(name)),
      run_(std::move(run)),
      diagnostics_(std::move(diagnostics)),
      model_(std::make_unique<ChartModel>(run_.timeline)) {}

std::string profileName(const std::vector<std::string>& inputs) {
  if (inputs.size() < 2) return inputs.empty() ? std::string() : inputs.front();
  return inputs.front() + " and " + std::to_string(inputs.size() - 1) + " more";
}

std::unique_ptr<const LoadedProfile> loadProfile(const std::vector<std::string>& inputs,
                                                 AlignBy align) {
  RunRequest request{.inputs = inputs, .align = align, .profilesAsWritten = true};
  request.reading.program = "pipe-view";
  Diagnostics diagnostics;
  ReadyRun run = readyToShow(loadRun(request, diagnostics), request);
  return std::make_unique<const LoadedProfile>(profileName(inputs), std::move(run),
                                               std::move(diagnostics));
}

}  // namespace pipetrace
