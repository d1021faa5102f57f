#pragma once

#include <span>
#include <string_view>

#include "trace/job_kind.h"

namespace pipetrace {

/// Whether a name is known without the preset of its program.
enum class NameUse {
  kAlways,    ///< no other program gives the name another meaning
  kInPreset,  ///< it means something else elsewhere, or other names of a trace count first
};

/// Some names of a program's jobs: a regular expression for a whole name, with the groups that
/// NamePattern knows. The kind kOther keeps a name from being taken for a job.
struct NameRow {
  const char* pattern;
  JobKind kind;
  NameUse use = NameUse::kInPreset;
};

/// The names of one program. The program's page in docs/inputs/ says which file of which version
/// has each of them.
struct ProgramNames {
  std::string_view preset;               ///< the word for --kinds
  std::span<const NameRow> rows;         ///< the first row that matches counts
  std::span<const NameRow> libraryRows;  ///< then those of the library that it trains with
};

std::span<const NameRow> torchNames();
std::span<const NameRow> megatronNames();
std::span<const NameRow> deepspeedNames();
std::span<const NameRow> torchtitanNames();
std::span<const NameRow> paddleNames();
std::span<const NameRow> nemoNames();

/// Names that several programs share, and those of device runtimes and communication libraries.
std::span<const NameRow> commonNames();

/// All programs that have a preset, in the order of the help.
std::span<const ProgramNames> programNames();

}  // namespace pipetrace
