#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "parser/testing/load_timeline.h"
#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"
#include "trace/log/ring_format.h"
#include "trace/testing/file_text.h"

namespace pipetrace {

/// Waits until the log thread has come round, so that it has taken all records.
inline void awaitLogThread() { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }

/// A recorder whose lines are held, and the files that it would leave.
class LeftOver {
 public:
  static RecorderOptions options(const RecordedLog& log) {
    RecorderOptions options;
    options.logDirectory = log.folder();
    options.ringSlots = 64;
    options.holdLimit = 1000 * kNsPerSecond;
    return options;
  }

  LeftOver() : recorder(options(original)) {
    compute = recorder.addStream("compute", std::make_unique<CpuStream>());
    send = recorder.addStream("send", std::make_unique<CpuStream>());
  }

  void job(StreamId stream, std::int64_t id, JobKind kind = JobKind::kForward) {
    recorder.begin(stream, {.kind = kind,
                            .microBatch = static_cast<std::int32_t>(id % 8),
                            .step = 1,
                            .stage = 2,
                            .id = id,
                            .action = "2F3"});
    recorder.end(stream, stream == send ? 4096 : kNotGiven);
  }

  /// The files as they are at one moment: copied again when the log thread changed one meanwhile.
  void die() {
    do {
      std::filesystem::copy(original.folder(), copy.folder(),
                            std::filesystem::copy_options::recursive |
                                std::filesystem::copy_options::overwrite_existing);
    } while (filesOf(original.folder()) != filesOf(copy.folder()));
    ring = fileIn(copy.folder());
  }

  static std::map<std::string, std::string> filesOf(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      files[entry.path().filename().string()] = test::fileText(entry.path().string());
    }
    return files;
  }

  static std::string fileIn(const std::string& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".ring") return entry.path().string();
    }
    return "";
  }

  std::string ringBytes() const { return test::fileText(ring); }
  void setRingBytes(const std::string& bytes) const {
    std::ofstream(ring, std::ios::binary | std::ios::trunc) << bytes;
  }
  template <typename T>
  void poke(std::size_t offset, const T& value) const {
    std::string bytes = ringBytes();
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
    setRingBytes(bytes);
  }
  std::size_t laneAt(int lane) const {
    ring_format::FileHeader header{};
    std::memcpy(&header, ringBytes().data(), sizeof(header));
    return header.laneOffset[static_cast<std::size_t>(lane)];
  }

  Timeline load(int run = -1) {
    return test::loadTimeline({copy.folder()}, {.run = run}, diagnostics);
  }
  std::vector<std::string> messages() const {
    std::vector<std::string> list;
    for (const Diagnostic& each : diagnostics.list()) list.push_back(each.message);
    return list;
  }

  RecordedLog original;
  RecordedLog copy;
  std::string ring;
  Recorder recorder;
  StreamId compute = 0;
  StreamId send = 0;
  Diagnostics diagnostics;
};

}  // namespace pipetrace
