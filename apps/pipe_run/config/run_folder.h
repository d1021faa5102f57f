#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// Makes the folder of a new run, LOGS/2026-11-27T03:10:48, or with "-2" behind it where there is
/// one of that second. Throws Error.
std::string makeRunFolder(const std::string& logs);

/// Throws Error if a folder of that name is not there and could not be made.
void requireRunFolder(const std::string& folder);

/// Makes the folder, unless it is there. Throws Error.
void makeRunFolderAt(const std::string& folder);

/// Puts a copy of the file `config`, under its own name, and command_history.log with a line for
/// each command into the folder. Throws Error.
void writeRunFiles(const std::string& folder, const std::string& config,
                   const std::vector<std::string>& commands);

}  // namespace pipetrace
