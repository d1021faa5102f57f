#include "ingest/followable.h"

#include <filesystem>
#include <string_view>

#include "parser/byte_source.h"
#include "parser/job_log/job_log_reader.h"
#include "parser/reader_registry.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Throws Error for a file that is no job log: no other file grows.
void checkGrows(const std::string& input) {
  const std::string advice =
      " cannot be followed, only job logs that still grow; leave out --follow";
  if (input.ends_with(".gz")) throw Error(input + " (compressed)" + advice);
  ByteSource source(input);
  const std::string_view head = source.peek(TraceReader::kProbeSize);
  const auto readers = makeTraceReaders();
  const TraceReader* const reader = chooseReader(readers, head);
  // A file that is only likely to be a log may be the output of a program that logs later.
  const bool isProfile = reader != nullptr && reader->formatName() != JobLogReader().formatName() &&
                         reader->probe(head) == FormatMatch::kCertain;
  if (isProfile) throw Error(input + " (" + std::string(reader->formatName()) + ")" + advice);
}

}  // namespace

void checkFollowable(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (input == "-") throw Error("--follow reads files, not standard input");
    if (!std::filesystem::exists(input, error)) {
      throw Error("cannot follow " + input +
                  ": it is not there; make the folder, or check the name");
    }
    if (std::filesystem::is_regular_file(input, error)) checkGrows(input);
  }
}

}  // namespace pipetrace
