#include "parser/fuzz/seeds.h"

#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "parser/chrome/write/writer.h"
#include "parser/fuzz/ring_image.h"
#include "parser/perfetto/writer.h"
#include "parser/sqlite/writer.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"

namespace pipetrace::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kRandomTimelines = 12;

/// The bytes that `write` puts into a file.
template <typename Write>
std::string written(const fs::path& file, Write write) {
  {
    OutputFile out(file.string());
    write(out);
    out.commit();
  }
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  fs::remove(file);
  return bytes;
}

std::vector<std::string> jobLogs() {
  return {test::logOf(test::oneFOneB(2, 2, 1), 0),
          // PaddlePaddle's lines, with other output around them.
          "Schedule Profiler start at step 7 and end at step 9.\r\n"
          "I1020 09:15:07.265326 22317 standalone_executor.cc:217] Profiler Info: Job (3), type = "
          "forward, micro_batch_id = 2, job_start_time = 1697793307213.760986, job_end_time = "
          "1697793307254.006104\n"
          "Profiler Info: Job (0), type = backward_b1, micro_batch_id = 0, job_start_time = "
          "1697793307254.5, job_end_time = 1697793307260\n"
          "Profiler Info: Job (0), type = forward(chunk0), micro_batch_id = 1, job_start_time = "
          "-1.25, job_end_time = 1e3\n",
          "Profiler Meta: version = 1, rank = 3, world_size = 8, host = \"node \\\"a\\\"\", "
          "num_stages = 8, schedule = 1F1B, clock = wall\n"
          "Profiler Clock: time = 5.000000, offset_ns = -17, bound_ns = 3\n"
          "Profiler Info: Job (1), type = forward_backward, micro_batch_id = 7, job_start_time = "
          "1.000000, job_end_time = 2.000000, id = 9, step = 1, stage = 3, chunk = 1, part = 2, "
          "action = \"(0F7;7B3)OVERLAP_F_B\", note = \"\\u524d\"\n"
          "Profiler Stream: type = all_reduce, start_time = 1.000000, end_time = 2.500000, stream "
          "= nccl, peer = 2, bytes = 4096, job = 9\n"
          "Profiler Kernel: name = \"gemm<float, 4>\", start_time = 1.000000, end_time = 1.5, "
          "stream = compute\n"
          "Profiler Counter: name = loss, time = 2.000000, value = -inf, unit = \"\"\n"
          "Profiler End: written = 3, dropped = 1, errors = 0, late_starts = 4, own_cost_ns = 99\n"
          "Profiler Meta: version = 1, rank = 3\n"};
}

std::vector<std::string> foreignChromeTraces() {
  return {
      R"([{"ph":"M","name":"process_name","pid":1,"args":{"name":"rank 0"}},
{"ph":"B","name":"F0","cat":"f","pid":1,"tid":"GPU0","ts":"12.5","args":{"mb_id":0}},
{"ph":"E","pid":1,"tid":"GPU0","ts":1e2,"args":{"step":1}},
{"ph":"C","name":"memory","pid":1,"ts":5,"args":{"used":1.5,"free":null}},
{"ph":"s","id":7,"pid":1,"tid":"GPU0","ts":13,"name":"x","cat":"y"},
{"ph":"f","bp":"e","id":7,"pid":1,"tid":"GPU0","ts":99,"name":"x","cat":"y"},)",
      R"({"schemaVersion":1,"deviceProperties":[{"id":0}],"distributedInfo":{"rank":2},
"baseTimeNanoseconds":1700000000000000000,"displayTimeUnit":"ms","traceEvents":[
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":10.001,"dur":3.5,
"args":{"stream":7,"correlation":12}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":4711,"tid":4711,"ts":1,"dur":2},
{"ph":"b","cat":"a","id":"0x1","name":"async","pid":0,"tid":7,"ts":1},
{"ph":"e","cat":"a","id":"0x1","name":"async","pid":0,"tid":7,"ts":2},
{"ph":"i","s":"g","name":"mark","pid":0,"tid":7,"ts":3}]})"};
}

std::string nsysExport(const fs::path& file) {
  constexpr const char* kSql =
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'forward');"
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
      "globalTid INTEGER, textId INTEGER);"
      "INSERT INTO NVTX_EVENTS VALUES (10, 50, 59, NULL, 281474976710726, 2), (60, NULL, 59, 'x', "
      "281474976710726, NULL);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "
      "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20, 40, 0, 7, 5, 281474976710656, 1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, "
      "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind "
      "INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (41, 45, 0, 8, 6, 281474976710656, 4096, 1);";
  sqlite3* database = nullptr;
  const bool made = sqlite3_open(file.c_str(), &database) == SQLITE_OK &&
                    sqlite3_exec(database, kSql, nullptr, nullptr, nullptr) == SQLITE_OK;
  sqlite3_close(database);
  if (!made) throw Error("cannot make a database in " + file.string() + "; name another folder");
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  fs::remove(file);
  return bytes;
}

std::vector<std::string> pipelineLogs() {
  std::string log;
  for (int i = 0; i < 8; ++i) {
    log += R"({"rank":0,"event":"forward_)" + std::string(i % 2 == 0 ? "start" : "end") +
           R"(","minibatch":)" + std::to_string(i / 2) + R"(,"time":170000000)" +
           std::to_string(i) + ".250000123}\n";
  }
  return {
      log,
      R"([{"rank":1,"event":"recv_forward_start","minibatch":0,"time":1.7e9},)"
      R"({"rank":1,"event":"recv_forward_end","minibatch":null,"time":1.7000000015E+9,"a":[{}]}])"};
}

std::vector<std::string> megatronRanks() {
  return {R"([{"name":"iteration","ph":"B","pad_before":5},
{"name":"forward","ph":"B","rel_ts":10},
{"microbatch":3,"model_chunk":1,"pp_rank":1,"name":"forward","ph":"E","rel_ts":30},
{"name":"send-forward","ph":"B","rel_ts":31},
{"name":"send-forward","ph":"E","rel_ts":32,"note":"x","r":0.5},
{"name":"iteration","ph":"E","rel_ts":90,"duration_wall":100,"duration_cuda":90},
{"name":"iteration","ph":"B","pad_before":7},
{"name":"backward","ph":"B","rel_ts":2},
{"name":"iteration","ph":"E","rel_ts":20}])"};
}

/// The first line is the pattern.
std::vector<std::string> patternLogs() {
  return {
      R"x((?P<type>\w+) mb=(?P<micro_batch_id>\d+) (?P<start>\S+)-(?P<end>\S+)(?: (?P<host>\S+))?
forward mb=3 12.5-14.25 a7
noise
backward mb=99999999999 1-2
)x",
      R"x(r(?P<rank>\d+) (?P<name>.*?) (?P<start>[\d.]+)\+(?P<dur>[\d.]+) s(?P<step>\d+)
r3 recv_forward 1+2 s4
r1 Forward 7 3.000000001+9223372036854775807 s0
)x"};
}

std::vector<std::string> kindLists() {
  return {R"x({"kinds": {"fwd_(?P<micro_batch_id>\\d+)": "forward", "blk(3)": "other",
"b(?P<step>\\d)(?P<chunk>\\d)": "backward_b"}})x"};
}

/// Examples of the output of each known program.
std::vector<std::string> knownChromeTraces() {
  return {
      R"([{"ph":"M","name":"thread_name","pid":1,"tid":5,"args":{"name":"PP rank 0, TP rank 0, compute"}},
{"ph":"M","name":"thread_name","pid":1,"tid":16,"args":{"name":"PP rank 1, TP rank 0, pp-comm"}},
{"ph":"X","name":"forward-compute","cat":"forward-compute","pid":1,"tid":5,"ts":43.519592285156,"dur":63.97,"args":{"step":23,"model_chunk":0,"mb_id":2,"seq_id":1}},
{"ph":"X","name":"forward-recv","cat":"forward-recv","pid":1,"tid":16,"ts":112404,"dur":10,"args":{"step":23,"model_chunk":-1,"mb_id":-1,"seq_id":1}}])",
      R"([{"name":"forward","ph":"B","ts":1,"pid":1,"tid":0,"args":{"iteration":3}},
{"name":"forward","ph":"E","ts":4,"pid":1,"tid":0,"args":{"iteration":3,"microbatch":5,"model_chunk":1,"pp_rank":1}}])",
      R"([{"ph":"M","name":"process_name","pid":41,"tid":0,"args":{"name":"Ascend Hardware"}},
{"ph":"X","name":"MatMulV2","pid":"41","tid":"2","ts":"1697793307213760.986","dur":"12.5","args":{"Task Type":"AI_CORE"}}])",
      R"([{"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":9,"tid":1,"ts":10,"dur":90},
{"ph":"X","cat":"user_annotation","name":"Forward 1","pid":9,"tid":1,"ts":20,"dur":30},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":22,"dur":3,"args":{"External id":5}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":205,"dur":9,"args":{"External id":5}}])"};
}

}  // namespace

std::map<std::string, std::vector<std::string>> makeSeeds(const std::string& scratch) {
  const fs::path folder = scratch;
  std::map<std::string, std::vector<std::string>> seeds;
  seeds["job_log"] = jobLogs();
  seeds["chrome_json"] = foreignChromeTraces();
  for (std::string& trace : knownChromeTraces()) seeds["chrome_json"].push_back(std::move(trace));
  seeds["megatron"] = megatronRanks();
  seeds["pattern_log"] = patternLogs();
  seeds["kinds"] = kindLists();
  for (std::uint32_t i = 0; i <= kRandomTimelines; ++i) {
    const Timeline timeline = i == 0 ? test::oneFOneB(2, 2, 1) : test::randomTimeline(i);
    seeds["chrome_json"].push_back(
        written(folder / "p.json", [&](OutputFile& out) { writeChromeJson(timeline, {}, out); }));
    seeds["perfetto"].push_back(
        written(folder / "p.pftrace", [&](OutputFile& out) { writePerfetto(timeline, {}, out); }));
    if (i % 6 != 0) continue;  // databases are large
    seeds["sqlite"].push_back(
        written(folder / "p.sqlite", [&](OutputFile& out) { writeSqlite(timeline, out); }));
  }
  seeds["sqlite"].push_back(nsysExport(folder / "nsys.sqlite"));
  seeds["pipeline_logger"] = pipelineLogs();
  seeds["ring_file"] = {sampleRingImage()};
  seeds["byte_source"] = {
      "", "\x1f\x8b",
      std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x04\x00\x43\xbe\xb7\xe8\x01\x00"
                  "\x00\x00",
                  21),  // gzip of "a"
      "plain text\n"};
  return seeds;
}

}  // namespace pipetrace::fuzz
