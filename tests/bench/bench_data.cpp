#include "tests/bench/bench_data.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <random>

#include "trace/files/output_file.h"
#include "trace/nanoseconds.h"
#include "trace/text/decimal_time.h"

namespace pipetrace::bench {
namespace {

constexpr Nanoseconds kEpoch = 1'700'000'000'123'456'789;

template <typename... Values>
void appendFormatted(std::string& out, const char* format, Values... values) {
  std::array<char, 512> text{};
  out.append(text.data(),
             static_cast<std::size_t>(std::snprintf(text.data(), text.size(), format, values...)));
}

/// The lines of one device.
class DeviceLog {
 public:
  DeviceLog(OutputFile& out, int device, int otherLines)
      : out_(out), random_(static_cast<unsigned>(device)), otherLines_(otherLines) {}

  void write(std::int64_t jobs) {
    constexpr std::int64_t kMicroBatches = 8;
    for (std::int64_t i = 0; i < jobs; ++i) {
      const std::int64_t place = i % (2 * kMicroBatches + 2);
      if (place == 0) {
        job("lr", 0);
      } else if (place <= kMicroBatches) {
        job("forward", place - 1);
      } else if (place <= 2 * kMicroBatches) {
        job("backward", place - 1 - kMicroBatches);
      } else {
        job("optimizer", 0);
      }
    }
    out_.write(text_);
  }

 private:
  void job(const char* type, std::int64_t number) {
    for (int i = 0; i < otherLines_; ++i) {
      appendFormatted(text_,
                      "I1114 22:13:20.%06u 40177 interpreter.cc:%u] Running op matmul_grad on "
                      "stream 0x7f3a1200 with %u events waiting, memory %u of 81920 MiB in use\n",
                      upTo(999'999), upTo(999), upTo(99), upTo(81'920));
    }
    const Nanoseconds end = now_ + 5 * kNsPerMs + upTo(40'000'000);
    appendFormatted(text_,
                    "I1114 22:13:20.%06u 40177 executor.cc:217] Profiler Info: Job (%d), type = "
                    "%s, micro_batch_id = %d, job_start_time = ",
                    upTo(999'999), static_cast<int>(number), type, static_cast<int>(number));
    appendMilliseconds(text_, now_);
    text_ += ", job_end_time = ";
    appendMilliseconds(text_, end);
    text_ += '\n';
    now_ = end + kNsPerMs;
    if (text_.size() < (std::size_t{1} << 16)) return;
    out_.write(text_);
    text_.clear();
  }

  unsigned upTo(unsigned most) { return static_cast<unsigned>(random_() % (most + 1)); }

  OutputFile& out_;
  std::mt19937 random_;
  int otherLines_;
  Nanoseconds now_ = kEpoch;
  std::string text_;
};

}  // namespace

std::vector<std::string> makeLogs(const std::string& folder, const LogShape& shape) {
  std::filesystem::create_directories(folder);
  std::vector<std::string> names;
  for (int device = 0; device < shape.devices; ++device) {
    names.push_back(folder + "/workerlog." + std::to_string(device));
    if (std::filesystem::exists(names.back())) continue;
    OutputFile out(names.back());
    DeviceLog(out, device, shape.otherLinesPerJob).write(shape.jobsPerDevice);
    out.commit();
  }
  return names;
}

void makeChromeTrace(const std::string& path, std::int64_t events) {
  if (std::filesystem::exists(path)) return;
  constexpr std::array kNames = {"aten::addmm", "aten::gelu", "aten::layer_norm", "aten::softmax"};
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  OutputFile out(path);
  out.write("{\"traceEvents\":[\n");
  std::mt19937 random(1);
  std::array<Nanoseconds, 8> now{};
  std::string text;
  for (std::int64_t i = 0; i < events; ++i) {
    const std::size_t thread = random() % now.size();
    const Nanoseconds length = random() % 9'000'000;
    appendFormatted(text, R"({"ph":"X","cat":"cpu_op","name":"%s %u","pid":22,"tid":%u,"ts":)",
                    kNames[random() % kNames.size()], static_cast<unsigned>(random() % 64),
                    static_cast<unsigned>(22 + thread));
    const auto appendMicroseconds = [&](Nanoseconds time) {
      appendFormatted(text, "%lld.%03lld", static_cast<long long>(time / kNsPerUs),
                      static_cast<long long>(time % kNsPerUs));
    };
    appendMicroseconds(now[thread]);
    text += ",\"dur\":";
    appendMicroseconds(length);
    appendFormatted(text, R"(,"args":{"Id":%u}})", static_cast<unsigned>(i));
    text += i + 1 < events ? ",\n" : "\n";
    now[thread] += length + 1000;
    if (text.size() < (std::size_t{1} << 16)) continue;
    out.write(text);
    text.clear();
  }
  out.write(text);
  out.write("]}\n");
  out.commit();
}

}  // namespace pipetrace::bench
