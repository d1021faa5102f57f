#include "ingest/followable.h"

#include <filesystem>
#include <string_view>

#include "parser/byte_source.h"
#include "parser/trace_reader.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Throws Error for a file that is no job log: no other file grows.
void checkGrows(const std::string& input, const TraceReaders& readers) {
  const std::string advice =
      " cannot be followed, only job logs that still grow; leave out --follow";
  if (input.ends_with(".gz")) throw Error(input + " (compressed)" + advice);
  ByteSource source(input);
  const std::string_view head = source.peek(TraceReader::kProbeSize);
  const TraceReader* const reader = readers.choose(head);
  // A file that is only likely to be a log may be the output of a program that logs later.
  const bool isProfile = reader != nullptr && reader->record() != RecordKind::kJobLog &&
                         reader->probe(head) == FormatMatch::kCertain;
  if (isProfile) throw Error(input + " (" + std::string(reader->formatName()) + ")" + advice);
}

}  // namespace

void checkFollowable(const std::vector<std::string>& inputs, const TraceReaders& readers) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (input == "-") throw Error("--follow reads files, not standard input");
    if (!std::filesystem::exists(input, error)) {
      throw Error("cannot follow " + input +
                  ": it is not there; make the folder, or check the name");
    }
    if (std::filesystem::is_regular_file(input, error)) checkGrows(input, readers);
  }
}

}  // namespace pipetrace
