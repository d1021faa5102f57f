// One rank of a training run, to compare with torch.distributed.pipelining: the same models, data
// and schedules. compare_with_torch.py starts it; so do `pipe-run` and `torchrun`.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "runtime/engine/engine_main.h"
#include "runtime/starting_ranks/process_env.h"
#include "tests/bench/pipelining/train.h"

namespace pipetrace::bench {
namespace {

void addOptions(CLI::App& app, TrainingOptions& options) {
  app.add_option("--model", options.model, "mlp or xfmr")
      ->check(CLI::IsMember({"mlp", "xfmr"}))
      ->capture_default_str();
  app.add_option("--schedule", options.schedule, "a schedule of `pipe-trace plan`")
      ->capture_default_str();
  const auto atLeast = [](int least) { return CLI::Range(least, 1 << 20); };
  const auto add = [&](const char* flag, int& value, int least, const char* text) {
    return app.add_option(flag, value, text)->check(atLeast(least));
  };
  add("--v", options.chunks, 1, "virtual stages of a rank")->capture_default_str();
  add("--micro-batches", options.microBatches, 1, "of a step")->capture_default_str();
  add("--steps", options.steps, 1, "measured steps")->capture_default_str();
  add("--warm", options.warm, 0, "steps before those")->capture_default_str();
  add("--width", options.width, 1, "of a layer (mlp 1024, xfmr 256)");
  add("--rows", options.rows, 1, "of a micro-batch (mlp 32, xfmr 4)");
  add("--tokens", options.tokens, 1, "of a row of xfmr (64)");
  app.add_option("--barrier-port", options.barrierPort,
                 "where rank 0 serves the barriers' store (default: MASTER_PORT + 2)")
      ->check(CLI::Range(1, 65535));
  app.add_option("--log-dir", options.logDirectory, "record job logs there");
}

nlohmann::json toJson(const TrainingOptions& options, const ProcessEnv& env,
                      const TrainingResult& result) {
  return {{"model", options.model},        {"schedule", options.schedule},
          {"v", options.chunks},           {"rank", env.rank},
          {"torch", torchVersion()},       {"step_ms", result.stepMs},
          {"cpu_ms", result.cpuMsPerStep}, {"losses", result.losses}};
}

int run(TrainingOptions options) {
  const ProcessEnv env = readProcessEnv();
  if (options.barrierPort == 0) options.barrierPort = env.masterPort + 2;
  const TrainingResult result = train(options, env);
  std::printf("%s\n", toJson(options, env, result).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace pipetrace::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  pipetrace::reuseFreedMemory();
  CLI::App app(
      "Trains one rank of a pipeline over Gloo and prints a line of JSON: milliseconds of each "
      "step, processor time a step, losses. Only the rank with the last stage has losses.");
  pipetrace::bench::TrainingOptions options;
  pipetrace::bench::addOptions(app, options);
  try {
    app.parse(argc, argv);
    return pipetrace::bench::run(options);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 2;
  }
}
