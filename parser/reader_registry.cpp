#include "parser/reader_registry.h"

#include <memory>
#include <utility>
#include <vector>

#include "parser/chrome/reader.h"
#include "parser/foreign/logs/megatron_reader.h"
#include "parser/foreign/logs/pipeline_logger_reader.h"
#include "parser/job_log/job_log_reader.h"
#include "parser/perfetto/reader.h"
#include "parser/ring/ring_file_reader.h"
#include "parser/sqlite/reader.h"

namespace pipetrace {

TraceReaders makeTraceReaders() {
  std::vector<std::unique_ptr<TraceReader>> readers;
  readers.push_back(std::make_unique<MegatronReader>());  // has "ph", too
  readers.push_back(std::make_unique<ChromeJsonReader>());
  readers.push_back(std::make_unique<PerfettoReader>());
  readers.push_back(std::make_unique<RingFileReader>());
  readers.push_back(std::make_unique<SqliteReader>());
  readers.push_back(std::make_unique<PipelineLoggerReader>());
  readers.push_back(std::make_unique<JobLogReader>());
  return TraceReaders(std::move(readers));
}

}  // namespace pipetrace
