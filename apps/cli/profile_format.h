#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parser/profile/profile_summary.h"
#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

class CommandApp;

/// The formats in which pipe-trace writes a run. All but kSvg, a picture, are profiles.
enum class ProfileFormat : std::uint8_t { kChromeJson, kPerfetto, kSqlite, kCsv, kSvg };

/// The values of --format; also the endings of file names, without the dot.
std::vector<std::string> profileFormatNames();

/// "NAME.json (Chrome Trace Event JSON), NAME.pftrace (…), …": for messages and help.
std::string profileFormatList();

/// Makes the command say that --svg and the like are meant as -o NAME.svg.
void adviseOnFormats(CommandApp& app);

/// The format of a name that profileFormatNames() has; nothing for any other.
std::optional<ProfileFormat> profileFormatOf(std::string_view name);

/// The format that the ending of an output's name says, in any case; nothing when it says none.
std::optional<ProfileFormat> profileFormatOfFile(const std::string& path);

struct ProfileOptions {
  bool flows = true;          ///< arrows, in the formats that have them
  bool absoluteTime = false;  ///< see ChromeOptions; SQLite and CSV always have times of the epoch
  bool csvSafe = false;       ///< see writeCsv()
  int threads = 0;  ///< how many may write, in the formats that can share the work; 0: all cores
};

/// Writes `timeline`, which must be sorted, by the writer of `format`, which must be a profile's.
/// The caller commits `out`.
ProfileSummary writeProfile(const Timeline& timeline, ProfileFormat format,
                            const ProfileOptions& options, OutputFile& out);

/// "72 jobs, 96 transfers, 12 bubbles, ...": the counts that programs print.
std::string summaryText(const ProfileSummary& written);

}  // namespace pipetrace
