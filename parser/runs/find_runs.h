#pragma once

#include <cstddef>
#include <span>
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
/// - when one begins after the other has ended, both with times since the epoch. Exceptions: a rank
///   still records; logs hold only forward jobs, which may run on one rank after the other; the
///   files hold other ranks of other hosts, whose clocks may differ;
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

}  // namespace pipetrace
