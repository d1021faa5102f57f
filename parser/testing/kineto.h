#pragma once

#include <optional>
#include <string>

#include "trace/nanoseconds.h"

namespace pipetrace::test {

/// A trace of one rank, as PyTorch's profiler writes it. Each step lasts 10 ms, and the next begins
/// when it ends. It holds the forward job PP:<rank>F0 from 1 to 4 ms and the backward job
/// PP:<rank>B0 from 5 to 9 ms after its begin.
struct KinetoFile {
  std::optional<int> rank = 0;  ///< in `distributedInfo`
  int worldSize = 2;
  int pid = 100;
  Nanoseconds begin = kKinetoBegin;  ///< since the epoch
  int steps = 2;
  std::optional<int> firstStep = 0;  ///< of `ProfilerStep#`; nothing: no such annotation
  std::string host{};                ///< `host_name`
  int groups = 1;                    ///< `pg_count`

  /// 2026-03-01 10:00:00 UTC.
  static constexpr Nanoseconds kKinetoBegin = 1'772'359'200 * kNsPerSecond;
};

inline std::string textOf(const KinetoFile& file) {
  const std::string pid = std::to_string(file.pid);
  std::string text = "{\"schemaVersion\": 1,\n";
  if (file.rank) {
    text += R"("distributedInfo": {"backend": "gloo", "rank": )" + std::to_string(*file.rank) +
            ", \"world_size\": " + std::to_string(file.worldSize) +
            ", \"pg_count\": " + std::to_string(file.groups) + "},\n";
  }
  if (!file.host.empty()) text += "\"host_name\": \"" + file.host + "\",\n";
  text += "\"traceEvents\": [\n";
  const auto add = [&](const std::string& category, const std::string& name, int step, int from,
                       int length) {
    text += R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": )" +
            pid + ", \"tid\": " + pid + ", \"ts\": " + std::to_string(step * 10'000 + from * 1000) +
            ", \"dur\": " + std::to_string(length * 1000) + "},\n";
  };
  const std::string stage = std::to_string(file.rank.value_or(0));
  for (int step = 0; step < file.steps; ++step) {
    if (file.firstStep) {
      add("user_annotation", "ProfilerStep#" + std::to_string(*file.firstStep + step), step, 0, 10);
    }
    add("user_annotation", "PP:" + stage + "F0", step, 1, 3);
    add("cpu_op", "aten::mm", step, 1, 3);
    add("user_annotation", "PP:" + stage + "B0", step, 5, 4);
    add("cpu_op", "aten::mm", step, 5, 4);
  }
  return text + "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": " + pid +
         ", \"args\": {\"name\": \"python\"}}],\n\"baseTimeNanoseconds\": " +
         std::to_string(file.begin) + "}\n";
}

}  // namespace pipetrace::test
