#include "parser/reader_registry.h"

#include "parser/chrome/reader.h"
#include "parser/foreign/logs/megatron_reader.h"
#include "parser/foreign/logs/pipeline_logger_reader.h"
#include "parser/job_log/job_log_reader.h"
#include "parser/perfetto/reader.h"
#include "parser/ring/ring_file_reader.h"
#include "parser/sqlite/reader.h"

namespace pipetrace {

std::vector<std::unique_ptr<TraceReader>> makeTraceReaders() {
  std::vector<std::unique_ptr<TraceReader>> readers;
  readers.push_back(std::make_unique<MegatronReader>());  // has "ph", too
  readers.push_back(std::make_unique<ChromeJsonReader>());
  readers.push_back(std::make_unique<PerfettoReader>());
  readers.push_back(std::make_unique<RingFileReader>());
  readers.push_back(std::make_unique<SqliteReader>());
  readers.push_back(std::make_unique<PipelineLoggerReader>());
  readers.push_back(std::make_unique<JobLogReader>());
  return readers;
}

const TraceReader* chooseReader(const std::vector<std::unique_ptr<TraceReader>>& readers,
                                std::string_view head) {
  const TraceReader* best = nullptr;
  FormatMatch surest = FormatMatch::kNo;
  for (const auto& reader : readers) {
    const FormatMatch match = reader->probe(head);
    if (match > surest) {
      best = reader.get();
      surest = match;
    }
  }
  return best;
}

}  // namespace pipetrace
