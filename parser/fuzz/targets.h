#pragma once

#include <cstdint>
#include <string>

/// What the fuzzers do with their bytes, and the unit tests with a few seeds. Each aborts when
/// something does not hold that must hold for any input.
namespace pipetrace::fuzz {

/// Reads the bytes as a job log, by hand and by pattern, and writes what came of it.
void readAsJobLog(const std::string& bytes);

/// Reads the bytes as Chrome JSON, by hand and by the library, and writes what came of it.
void readAsChromeJson(const std::string& bytes);

/// The same for Perfetto's protobuf, SQLite databases and the PipelineLogger's JSON.
void readAsPerfetto(const std::string& bytes);
void readAsSqlite(const std::string& bytes);
void readAsPipelineLogger(const std::string& bytes);

}  // namespace pipetrace::fuzz
