#include "samples/sample_command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "schedule/options/schedule_options.h"

namespace pipetrace {
namespace {

/// Its default is the value that `options` has.
void addPlanOption(CLI::App& app, const ScheduleOption& row, ScheduleOptions& options) {
  const OptionFace& face = row.trained;
  const std::string help = helpOf(face);
  const auto declare = [&](auto field) {
    auto& value = options.*field;
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      return app.add_flag(face.names, value, help);
    } else {
      CLI::Option* const option = app.add_option(face.names, value, help);
      if constexpr (!std::is_same_v<Value, std::string>) {
        if (value) option->default_str(std::to_string(*value));
        return option->check(numberFrom(face.least, face.most));
      } else {
        if (face.mayBeEmpty) return option;
        return option->check(
            [](const std::string& text) { return text.empty() ? "it is empty" : ""; }, "");
      }
    }
  };
  CLI::Option* const option = std::visit(declare, row.field);
  if (face.value != nullptr) option->option_text(face.value);
  for (const char* const other : face.excludes) {
    if (other != nullptr) option->excludes(app.get_option(other));
  }
  if (face.needs != nullptr) option->needs(app.get_option(face.needs));
}

/// Those that say which plan it is, or all others.
void addPlanOptions(CLI::App& app, ScheduleOptions& options, bool sayWhich) {
  std::vector<const ScheduleOption*> rows;
  for (const ScheduleOption& row : kScheduleOptions) {
    const bool isMeant = row.trained.names != nullptr && (row.trained.place > 0) == sayWhich;
    if (isMeant) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return a->trained.place < b->trained.place;
  });
  for (const ScheduleOption* const row : rows) addPlanOption(app, *row, options);
}

const CLI::Validator kPositiveFinite(
    [](const std::string& text) {
      double value = 0;
      const bool isNumber = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
      return isNumber && value > 0 ? std::string() : text + " is no positive number";
    },
    "POSITIVE");

constexpr const char* kNewest = "newest";

}  // namespace

static void addCheckpointOptions(CLI::App& app, CheckpointOptions& options) {
  auto* folder =
      app.add_option("--checkpoint", options.folder,
                     "save the training in this folder, and go on from there with --resume; all "
                     "ranks share it, or --checkpoint-gather")
          ->option_text("DIR")
          ->check([](const std::string& text) { return text.empty() ? "it is empty" : ""; }, "");
  app.add_option("--checkpoint-every", options.everySteps,
                 "steps between two saves (0: it never saves by itself)")
      ->option_text("STEPS [0]")
      ->check(numberFrom(0, 1 << 30))
      ->needs(folder);
  app.add_option("--keep", options.keep, "how many checkpoints stay, the newest ones")
      ->check(numberFrom(1, 1 << 20))
      ->needs(folder);
  app.add_option_function<std::string>(
         "--resume",
         [&options](const std::string& step) {
           options.resumes = true;
           if (step != kNewest) options.resumeStep = std::stoi(step);
         },
         "go on from the checkpoint of that step, or from the newest one; under any schedule, "
         "number of stages and replicas")
      ->option_text("[STEP]")
      ->expected(0, 1)
      ->default_str(kNewest)
      ->check(
          [](const std::string& text) {
            const bool isNumber = !text.empty() && text.size() <= 9 &&
                                  text.find_first_not_of("0123456789") == std::string::npos;
            if (isNumber || text == kNewest) return std::string();
            return text + " is no number of a step; the folder is that of --checkpoint";
          },
          "")
      ->needs(folder);
  app.add_flag("--checkpoint-gather", options.gathers,
               "rank 0 has all files: for ranks on hosts that share no folder")
      ->needs(folder);
  app.add_flag("--checkpoint-on-stop", options.onStop,
               "at the first signal all ranks end the step and save; the second one ends the "
               "program at once")
      ->needs(folder);
  app.add_option("--exit-after", options.exitAfterMinutes,
                 "save and end the training after that many minutes (default: never)")
      ->option_text("MINUTES")
      ->check(kPositiveFinite)
      ->default_str("")
      ->needs(folder);
}

void addPipelineOptions(CLI::App& app, SampleOptions& options) {
  const bool launched = std::getenv("WORLD_SIZE") != nullptr;
  options.transport = launched ? SampleTransport::kGloo : SampleTransport::kInProcess;
  app.option_defaults()->always_capture_default();
  app.footer(
      "Exit codes: 0 done, 2 failed, 124 ended in a job that did not come back, 128 + n stopped by "
      "signal n");
  const std::map<std::string, SampleTransport> transports{
      {"in-process", SampleTransport::kInProcess},
      {"gloo", SampleTransport::kGloo},
      {"nccl", SampleTransport::kNccl}};

  takeUsual(options.plan);
  addPlanOptions(app, options.plan, /*sayWhich=*/true);
  auto* partition =
      app.add_option("--partition", options.partitionFile,
                     "a JSON file, its text, or numbers such as 4,5,5: the blocks of each stage, "
                     "and the share that "
                     "runs again before its backward; default: equal numbers, none")
          ->option_text("FILE");
  auto* automatic =
      app.add_option("--auto-partition", options.autoPartition,
                     "measure each block of the model, find the partition with the shortest step, "
                     "train with it, and write it to this file, which may be one from before")
          ->option_text("FILE")
          ->check([](const std::string& text) { return text.empty() ? "it is empty" : ""; }, "")
          ->excludes(partition);
  app.add_option("--blocks-out", options.blocksOut,
                 "with --auto-partition: write what each block costs, as a blocks file for "
                 "pipe-trace plan, what-if and advise")
      ->option_text("FILE")
      ->needs(automatic);
  app.add_option("--limit", options.limitGb,
                 "with --auto-partition: 10^9 bytes that a rank may take, weights and all; blocks "
                 "run again where it is needed (default: no limit)")
      ->option_text("GB")
      ->check(kPositiveFinite)
      ->default_str("")
      ->needs(automatic);
  app.add_option("--recompute-ratio", options.recomputeRatio,
                 "what share of each stage's blocks runs again before its backward, where the "
                 "partition does not say")
      ->check(numberFrom(0.0, 1.0));
  addPlanOptions(app, options.plan, /*sayWhich=*/false);
  app.add_option("--stash-update", options.stashUpdate,
                 "in plans without a flush, what an update changes: the newest version of the "
                 "weights (PipeDream), or the oldest, which the micro-batch's forward used (VPipe)")
      ->check(CLI::IsMember({"newest", "oldest"}).description(""))
      ->option_text("newest|oldest [newest]");
  app.add_option("--steps", options.steps, "training steps")->check(numberFrom(1, 1 << 30));
  app.add_option("--seed", options.seed, "of the initial weights and of the order of the data")
      ->check(
          numberFrom(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()).description(""));
  app.add_option(
         "--transport", options.transport,
         "in-process: a thread per rank; gloo: this process is one rank, RANK, LOCAL_RANK, "
         "WORLD_SIZE, MASTER_ADDR and MASTER_PORT say which (default if they are set). So it is "
         "with nccl, and messages go from GPU to GPU (--device cuda)")
      ->transform(CLI::CheckedTransformer(transports))
      ->option_text(launched ? "in-process|gloo|nccl [gloo]" : "in-process|gloo|nccl [in-process]");
  app.add_option("--device", options.device,
                 "where stages compute; cuda: each rank has a GPU, by its number on the machine")
      ->check(CLI::IsMember({"cpu", "cuda"}).description(""))
      ->option_text("cpu|cuda [cpu]");
  app.add_flag("--share-devices", options.shareDevices,
               "with --device cuda: several ranks may have one GPU");
  app.add_option("--precision", options.precision,
                 "in what blocks and the loss compute: bf16 and fp16 under LibTorch's autocast; "
                 "parameters, sums of gradients and the optimizer stay fp32")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}).description(""))
      ->option_text("fp32|bf16|fp16 [fp32]");
  app.add_option(
         "--loss-scale", options.lossScale,
         "with --precision fp16: gradients are multiplied by it until the optimizer's step, which "
         "is left out where one of them is no finite number; dynamic finds it")
      ->option_text("NUMBER|dynamic [1024]");
  app.add_option("--clip-grad-norm", options.clipGradNorm,
                 "make gradients smaller where the norm of all of them is above this; the job log "
                 "gets a counter grad_norm (default: never)")
      ->check(kPositiveFinite)
      ->option_text("NORM")
      ->default_str("");
  app.add_option(
         "--nccl-communicators", options.ncclCommunicators,
         "with --transport nccl: rank has one for all messages, which run in line; lane has "
         "one for each two ranks, direction and tensor, and may hang")
      ->check(CLI::IsMember({"rank", "lane"}).description(""))
      ->option_text("rank|lane [rank]");
  app.add_flag("--no-send-recv-overlap", options.noSendRecvOverlap,
               "over Gloo: receive on the thread that computes, and let it wait for its sends")
      ->envname("PIPETRACE_NO_SEND_RECV_OVERLAP");
  app.add_option("--step-timeout", options.stepTimeout,
                 "end the run when a rank ends no action for that many seconds (0: never)")
      ->check(numberFrom(0.0, 1e9));
  app.add_option("--connect-timeout", options.connectTimeout,
                 "over Gloo: give up if not all ranks have come after that many seconds")
      ->check(numberFrom(0.1, 1e6));
  app.add_option("--link-timeout", options.linkTimeout,
                 "over Gloo: give up a connection that takes longer than that many seconds")
      ->check(numberFrom(0.1, 1e6));
  app.add_option("--silence", options.silence,
                 "give up a rank that is silent for that many seconds, for tests")
      ->check(numberFrom(0.0, 1e9))
      ->group("");  // hidden
  app.add_option("--log-dir", options.logDir, "record job logs (workerlog.<rank>) in this folder")
      ->envname("PIPETRACE_LOG_DIR");
  app.add_option("--log-every", options.logEvery,
                 "steps between two lines of losses (0: none); on a terminal one line changes")
      ->check(numberFrom(0, 1 << 30));
  app.add_flag(
      "--cost", options.cost,
      "run a few micro-batches in one thread, print what a step would take and what memory "
      "each rank would need, and train nothing");
  app.add_option("--config", options.configFile,
                 "a YAML file with these options and the keys of PipeDream's and VPipe's drivers; "
                 "the command line goes before it")
      ->option_text("FILE.yml");
  app.add_flag("--dry-run", options.dryRun,
               "check the options and the file, print the plan, and train nothing");
  app.add_flag("--forward-only", options.forwardOnly,
               "evaluate the model on the data of the steps, and train nothing");
  app.add_option("--inspect-every", options.inspectEvery,
                 "every N steps, write figures of what stages send and the norms of gradients to "
                 "inspect_rank<r>.jsonl in the folder of the logs (0: never)")
      ->option_text("N")
      ->check(numberFrom(0, 1 << 30));
  app.add_flag("--visualize-pipeline,--visualize_pipline", options.visualizePipeline,
               "record, into logs if there is no --log-dir; the second is PaddlePaddle's spelling. "
               "Without it PIPETRACE=1 or 0 decides, else whether there is a --log-dir");
  addCheckpointOptions(app, options.checkpoints);
}

void addPeakFlops(CLI::App& app, SampleOptions& options) {
  app.add_option("--peak-flops", options.peakFlops,
                 "what the device of a rank can do a second: lines then have the model FLOPs "
                 "utilization, MFU (default: not known)")
      ->check(numberFrom(0.0, 1e20))
      ->default_str("");
}

void addOptimizerOptions(CLI::App& app, OptimizerOptions& options) {
  app.add_option("--optimizer", options.kind,
                 "how weights change; lamb wants a larger learning rate")
      ->check(CLI::IsMember({"adamw", "lamb", "sgd"}).description(""))
      ->option_text(fmt::format("adamw|lamb|sgd [{}]", options.kind));
  app.add_option("--learning-rate", options.learningRate, "of the optimizer, at its highest")
      ->check(kPositiveFinite);
  app.add_option("--lr-schedule", options.schedule,
                 "how the learning rate falls from step to step, after its warm-up")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}).description(""))
      ->option_text(fmt::format("constant|linear|cosine [{}]", options.schedule));
  app.add_option("--lr-warmup", options.warmup,
                 "the learning rate rises in equal parts over this many steps")
      ->check(numberFrom(0, 1 << 30));
  app.add_option("--lr-final", options.finalShare,
                 "what share of the learning rate is left after the last step (linear, cosine)")
      ->check(numberFrom(0.0, 1.0));
  app.add_option("--weight-decay", options.weightDecay,
                 "of the optimizer, for parameters of two dimensions and more")
      ->check(numberFrom(0.0, 1e6));
  app.add_option("--no-decay", options.noDecay,
                 "no weight decay for parameters whose name has a match of this regular expression "
                 "(RE2), such as ^0 for block 0; may be given several times")
      ->option_text("PATTERN")
      ->expected(1)
      ->take_all();
}

}  // namespace pipetrace
