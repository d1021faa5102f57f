#pragma once

#include <string>

#include "analysis/diff/run_diff.h"

namespace pipetrace {

/// "forwards", "input halves of backwards"; "jobs" for JobKind::kOther.
std::string jobsText(JobKind kind);

/// "4.1 %", of a share without its sign.
std::string shareOf(double share);

/// "+4.1 %", "-0.3 %".
std::string signedShare(double share);

/// "+12.30 ms", "-873 ns", "0 ns".
std::string signedTime(Nanoseconds time);

/// "take 10.0 % longer", "take 9.1 % less time", "take 2.40 times as long".
std::string takesText(double factor);

/// The interval of a difference as shares of `whole`: "3.8 to 4.4 %"; empty where it is not known.
std::string intervalText(const std::optional<Sureness>& sure, double whole);

/// "stage 2", "position 1"; empty: no place.
std::string placeText(int stage, int position);

/// "12.30 ms more", "873 ns less".
std::string moreText(Nanoseconds time);

}  // namespace pipetrace
