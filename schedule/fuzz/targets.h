#pragma once

#include <string>

/// The functions that the fuzzer runs on its bytes, and the unit tests on a few seeds.
namespace pipetrace::fuzz {

/// Reads the bytes as a schedule file, writes it and reads it again, checks the plan in every way
/// and, if it can run, adds its transfers and simulates it. Aborts when something does not hold
/// that must hold for any input.
void readAsScheduleFile(const std::string& bytes);

}  // namespace pipetrace::fuzz
