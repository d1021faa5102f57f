#include <gtest/gtest.h>

#include <random>

#include "parser/chrome_writer.h"
#include "parser/fuzz/targets.h"
#include "parser/perfetto_writer.h"
#include "parser/sqlite_writer.h"
#include "parser/test_files.h"
#include "parser/test_timelines.h"

namespace pipetrace {
namespace {

class FuzzSeedsTest : public test::FolderTest {};

/// `bytes` with some of them changed, cut out or doubled.
std::string mutated(std::string bytes, std::mt19937& random) {
  const std::size_t changes = 1 + random() % 8;
  for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0: bytes[at] = static_cast<char>(random() % 256); break;
      case 1: bytes.erase(at, random() % 40); break;
      case 2: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 40)); break;
      default: bytes.insert(at, 1, "\"\\{}[],=\n\0"[random() % 10]); break;
    }
  }
  return bytes;
}

TEST_F(FuzzSeedsTest, DamagedJobLogsBreakNothing) {
  std::mt19937 random(21);
  const std::string log = test::logOf(test::oneFOneB(2, 2, 1), 0);
  fuzz::readAsJobLog(log);
  for (int i = 0; i < 300; ++i) fuzz::readAsJobLog(mutated(log, random));
}

TEST_F(FuzzSeedsTest, DamagedProfilesBreakNothing) {
  std::mt19937 random(22);
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    OutputFile out(path("p.json"));
    writeChromeJson(test::randomTimeline(seed), {}, out);
    out.commit();
    const std::string json = contents("p.json");
    fuzz::readAsChromeJson(json);
    for (int i = 0; i < 8; ++i) fuzz::readAsChromeJson(mutated(json, random));
  }
}

TEST_F(FuzzSeedsTest, DamagedPerfettoTracesBreakNothing) {
  std::mt19937 random(23);
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    OutputFile out(path("p.pftrace"));
    writePerfetto(test::randomTimeline(seed), {}, out);
    out.commit();
    const std::string bytes = contents("p.pftrace");
    fuzz::readAsPerfetto(bytes);
    for (int i = 0; i < 12; ++i) fuzz::readAsPerfetto(mutated(bytes, random));
  }
}

TEST_F(FuzzSeedsTest, DamagedDatabasesBreakNothing) {
  std::mt19937 random(24);
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    OutputFile out(path("p.sqlite"));
    writeSqlite(test::randomTimeline(seed), out);
    out.commit();
    const std::string bytes = contents("p.sqlite");
    fuzz::readAsSqlite(bytes);
    for (int i = 0; i < 20; ++i) fuzz::readAsSqlite(mutated(bytes, random));
  }
}

TEST_F(FuzzSeedsTest, DamagedPipelineLogsBreakNothing) {
  std::mt19937 random(25);
  std::string log;
  for (int i = 0; i < 20; ++i) {
    log += R"({"rank":0,"event":"forward_)" + std::string(i % 2 == 0 ? "start" : "end") +
           R"(","minibatch":)" + std::to_string(i / 2) + R"(,"time":1.7e9})" + "\n";
  }
  fuzz::readAsPipelineLogger(log);
  for (int i = 0; i < 500; ++i) fuzz::readAsPipelineLogger(mutated(log, random));
}

TEST_F(FuzzSeedsTest, OddInputsBreakNothing) {
  using namespace std::string_literals;
  for (const std::string& bytes :
       {""s, "\n"s, "\0"s, "Profiler Info: "s, "Profiler Meta: rank = -1\n"s, "[[[[[["s,
        "{\"traceEvents\":[{\"ph\":\"X\""s, "[{\"ph\":\"E\",\"ts\":1}]"s,
        "[{\"ph\":\"X\",\"ts\":9223372036854775,\"dur\":9223372036854775}]"s, "\x1f\x8b\x08"s,
        "\x0a\xff\xff\xff\xff\x0f"s, "SQLite format 3\0"s, "{\"event\":{{{"s}) {
    fuzz::readAsJobLog(bytes);
    fuzz::readAsChromeJson(bytes);
    fuzz::readAsPerfetto(bytes);
    fuzz::readAsSqlite(bytes);
    fuzz::readAsPipelineLogger(bytes);
  }
}

}  // namespace
}  // namespace pipetrace
