#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pipetrace {

/// "FOLDER/step_20"
std::string stepFolder(const std::string& folder, std::int64_t step);

/// The steps in a folder of checkpoints, ascending: those that have a manifest. Throws Error if the
/// folder cannot be read; a folder that is missing has none.
std::vector<std::int64_t> checkpointSteps(const std::string& folder);

/// The last of them; nullopt: there is none.
std::optional<std::int64_t> newestCheckpoint(const std::string& folder);

/// Those without a manifest, which do not count: of a save that is under way, or of one that a kill
/// ended.
std::vector<std::int64_t> unfinishedSteps(const std::string& folder);

/// Removes a step. Its manifest goes first, so that it never counts while files of it are missing.
/// Files that are no checkpoint's stay, and so does the folder then. Throws Error with the path.
void removeCheckpoint(const std::string& folder, std::int64_t step);

}  // namespace pipetrace
