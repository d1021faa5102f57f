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

/// Reads the bytes, plain, compressed or as what is left of compressed ones, in pieces of all
/// sizes.
void readAsBytes(const std::string& bytes);

/// Reads the bytes as a ring file, and the file that they are the image of (ring_image.h), and
/// writes what came of both.
void readAsRingFile(const std::string& bytes);

/// The same for Perfetto's protobuf, SQLite databases and the PipelineLogger's JSON.
void readAsPerfetto(const std::string& bytes);
void readAsSqlite(const std::string& bytes);
void readAsPipelineLogger(const std::string& bytes);

/// Reads the bytes as what MegatronApp writes on a rank, and puts its iterations where they belong.
void readAsMegatron(const std::string& bytes);

/// Takes the first line for --pattern, and reads the others by it.
void readAsPatternLog(const std::string& bytes);

/// Reads the bytes as the file of --kinds, and looks up names in it.
void readAsKinds(const std::string& bytes);

}  // namespace pipetrace::fuzz
