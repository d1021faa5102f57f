#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "parser/runs/file_facts.h"

namespace pipetrace {

/// The files of one run, as indices, in the order of reading.
using FilesOfRun = std::vector<std::size_t>;

/// Groups files by the run that they are of, the run that began first at the front. `files` are in
/// the order of reading.
///
/// Files are of different runs
/// - when they name different world sizes;
/// - when one begins after the others have ended, all with times since the epoch. Three cases are
///   none of that: a recorder of the others still runs. They are logs of forward jobs only, which
///   ranks may run one after the other. It holds other ranks of another host, whose clock may
///   differ;
/// - when both hold the same rank at the same time in the same format, unless one is a copy of the
///   other, or both are profiles of ours.
///
/// Files that follow each other are parts of one run all the same (profiler cycles) when they hold
/// the same ranks, and each rank is the same process in both. Where the process is not known, the
/// steps have to go on. Job logs are never parts.
std::vector<FilesOfRun> findRuns(std::span<const FileFacts> files);

/// Whether the later of two files that hold a rank at different times can go on with the run of the
/// earlier one.
bool goesOn(const FileFacts& earlier, const FileFacts& later);

/// The message for inputs that hold several runs: for each run its ranks, the number of its files,
/// when it began, and a command of `program` that reads it alone. The command names a folder where
/// the folder holds no file of another run, else a pattern for the shell where that matches no
/// other name, else all files. `inputs` are as for loadTimeline(); folders outside of them are not
/// named.
std::string severalRunsText(std::span<const FileFacts> files, const std::vector<FilesOfRun>& runs,
                            const std::vector<std::string>& inputs, const std::string& program);

}  // namespace pipetrace
