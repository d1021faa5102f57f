#pragma once

#include <cstdint>
#include <string>

/// The checks that the fuzzers do with their bytes, and the unit tests with a few seeds. Each
/// aborts when a condition fails that must hold for any input.
namespace pipetrace::fuzz {

/// Reads the bytes as a job log, by hand and by pattern, and writes the result.
void readAsJobLog(const std::string& bytes);

/// Reads the bytes as Chrome JSON, by hand and by the library, and writes the result.
void readAsChromeJson(const std::string& bytes);

/// Reads the bytes in pieces of all sizes: plain, compressed, and as the rest of compressed data.
void readAsBytes(const std::string& bytes);

/// Reads the bytes as a ring file, and the file of which they are the image (ring_image.h), and
/// writes both results.
void readAsRingFile(const std::string& bytes);

/// The same for Perfetto's protobuf, SQLite databases and the PipelineLogger's JSON.
void readAsPerfetto(const std::string& bytes);
void readAsSqlite(const std::string& bytes);
void readAsPipelineLogger(const std::string& bytes);

/// Reads the bytes as a file of MegatronApp for one rank, and aligns its iterations.
void readAsMegatron(const std::string& bytes);

/// Uses the first line as --pattern, and reads the others by it.
void readAsPatternLog(const std::string& bytes);

/// Reads the bytes as the file of --kinds, and looks up names in it.
void readAsKinds(const std::string& bytes);

}  // namespace pipetrace::fuzz
