#pragma once

#include <string>

#include "analysis/diff/run_diff.h"

namespace pipetrace {

// The tables of the page of two runs, as HTML; empty where there is nothing to list, as where steps
// cannot be compared. Their rows are those of diffText(), and those that it has no room for.

/// The reasons for the step's difference, which add up to it.
std::string reasonTableHtml(const RunDiff& diff);

/// The sums of both runs by kind of job and by class of idle time.
std::string sumTableHtml(const RunDiff& diff);

/// The parts of the step that differ beyond noise, with whoever is to blame.
std::string partTableHtml(const RunDiff& diff);

/// The mean lengths of all jobs and messages that were compared.
std::string lengthTableHtml(const RunDiff& diff);

}  // namespace pipetrace
