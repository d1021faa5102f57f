#include "analysis/what_if/framework_options.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>

#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

constexpr const char* kLayoutOption = "--pipeline-model-parallel-layout ";

std::string lowerCase(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

bool hasAnyOf(const std::string& name, const std::vector<const char*>& words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) {
    return lowerCase(name).find(word) != std::string::npos;
  });
}

bool isEmbedding(const std::string& name) { return hasAnyOf(name, {"embed"}); }
bool isLoss(const std::string& name) {
  return hasAnyOf(name, {"head", "loss", "logits", "output", "norm"});
}

/// A letter for each block. Those of the embedding are first, those of the loss last.
std::string lettersOf(const std::vector<std::string>& names) {
  std::string letters;
  for (const std::string& name : names) letters += hasAnyOf(name, {"mtp"}) ? 'm' : 't';
  for (std::size_t i = 0; i < names.size() && isEmbedding(names[i]); ++i) letters[i] = 'E';
  for (std::size_t i = names.size(); i > 0 && letters[i - 1] != 'E' && isLoss(names[i - 1]); --i) {
    letters[i - 1] = 'L';
  }
  return letters;
}

/// "Et*3": blocks of the embedding, or of the loss, are one.
std::string stageText(const std::string& letters) {
  std::string text;
  for (std::size_t i = 0; i < letters.size();) {
    const std::size_t end = std::min(letters.find_first_not_of(letters[i], i), letters.size());
    const bool isOne = letters[i] == 'E' || letters[i] == 'L';
    text += letters[i];
    if (!isOne && end - i > 1) text += "*" + std::to_string(end - i);
    i = end;
  }
  return text;
}

/// The stages of blocks with these letters, with an E and an L where no block has one.
std::string layoutOf(const std::vector<int>& blocks, std::string letters) {
  std::string text;
  std::size_t first = 0;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const auto count = static_cast<std::size_t>(blocks[stage]);
    if (stage > 0) text += "|";
    if (stage == 0 && letters.front() != 'E') text += "E";
    text += stageText(letters.substr(first, count));
    first += count;
  }
  if (letters.back() != 'L') text += "L";
  return "\"" + text + "\"";
}

/// Names the blocks of t, without numbers, where their names do not say that they are layers.
std::string groundOf(const std::vector<std::string>& names, const std::string& letters) {
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (letters[i] != 't' || hasAnyOf(names[i], {"layer"})) continue;
    std::string kind = names[i];
    while (!kind.empty() && std::isalpha(static_cast<unsigned char>(kind.back())) == 0) {
      kind.pop_back();
    }
    kinds.insert(kind);
  }
  if (kinds.empty()) return {};
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : ", ") + kind;
  return ", if each block between is a whole layer" + (text.empty() ? text : " (" + text + ")");
}

constexpr const char* kTorch = "torch";
constexpr const char* kTitan = "torchtitan";
constexpr const char* kMegatron = "Megatron-LM";
constexpr const char* kDeepSpeed = "DeepSpeed";

FrameworkOption can(const char* framework, std::string text) {
  return {framework, std::move(text), true};
}
FrameworkOption cannot(const char* framework, std::string text) {
  return {framework, std::move(text), false};
}

void addPlanFile(std::vector<FrameworkOption>& options) {
  options.push_back(
      {.framework = kTorch,
       .text = "_PipelineScheduleRuntime(...)._load_csv(\"plan.csv\", format=\"compute_only\")",
       .takesPlanFile = true});
  options.push_back(
      can(kTitan,
          "the same plan.csv: parallelism.pipeline_parallel_schedule_csv = \"plan.csv\" with "
          "pipeline_parallel_schedule = \"PipelineScheduleMulti\" (one stage a rank: "
          "\"PipelineScheduleSingle\")"));
}

void addTorch(const ScheduleInfo& schedule, int chunks, std::vector<FrameworkOption>& options) {
  if (schedule.isBidirectional) {
    options.push_back(cannot(kTorch, "a stage cannot stand on two ranks"));
    options.push_back(cannot(kTitan, "a stage cannot stand on two ranks"));
    return;
  }
  if (schedule.torch.empty()) return addPlanFile(options);
  const std::string name(schedule.torch);
  std::string stages;
  if (schedule.torchTakesOneStage) stages = " with a list of one stage on each rank";
  if (chunks > 1) stages = " with " + std::to_string(chunks) + " stages on each rank";
  options.push_back(can(kTorch, "get_schedule_class(\"" + name + "\")" + stages));
  std::string parts;
  if (schedule.torchTakesOneStage) {
    parts = ", and module_fqns_per_model_part with one entry a rank";
  } else if (chunks > 2) {
    parts = ", and module_fqns_per_model_part with " + std::to_string(chunks) + " entries a rank";
  }
  options.push_back(
      can(kTitan, "parallelism.pipeline_parallel_schedule = \"" + name + "\"" + parts));
}

using AskFramework = FrameworkAnswer (*ScheduleInfo::*)(const PlanSize&);

/// The answer of a schedule's row, or which schedules the framework has.
FrameworkOption answerOf(const char* framework, AskFramework ask, const ScheduleInfo& schedule,
                         const PlanSize& size) {
  if (schedule.*ask != nullptr) {
    const FrameworkAnswer answer = (schedule.*ask)(size);
    return {framework, answer.text, answer.exists};
  }
  std::vector<std::string_view> known;
  for (const ScheduleInfo& each : knownSchedules()) {
    if (each.*ask != nullptr) known.push_back(each.name);
  }
  std::string names;
  for (const std::string_view& each : known) {
    const bool isLast = &each == &known.back();
    names += (names.empty() ? "" : isLast ? " and " : ", ") + std::string(each);
  }
  return cannot(framework, "it has " + names + " only");
}

FrameworkOption layoutOfMegatron(const std::vector<int>& blocks,
                                 const std::vector<std::string>& names) {
  if (blocks.empty()) {
    return can(kMegatron,
               "--pipeline-model-parallel-layout, such as \"Et*3|(t*4|)*2,t*4L\" for 15 layers on "
               "4 stages of which the first has 3");
  }
  const MegatronLayout layout = megatronLayout(blocks, names);
  return layout.problem.empty() ? can(kMegatron, layout.text) : cannot(kMegatron, layout.problem);
}

}  // namespace

MegatronLayout megatronLayout(const std::vector<int>& blocks,
                              const std::vector<std::string>& names) {
  std::size_t count = 0;
  for (const int each : blocks) count += static_cast<std::size_t>(each);
  if (names.size() != count || names.front().empty() || names.back().empty()) {
    std::string letters(count, 't');
    std::string text = kLayoutOption + layoutOf(blocks, letters) + " where all blocks are layers";
    if (count > 2) {
      letters.front() = 'E';
      letters.back() = 'L';
      text += ", " + layoutOf(blocks, letters) +
              " where the first is the embedding and the last the loss";
    }
    return {.text = text + " (names of blocks in --blocks FILE say which)", .problem = {}};
  }
  const std::string letters = lettersOf(names);
  const auto embeddings = std::count(letters.begin(), letters.end(), 'E');
  const auto losses = std::count(letters.begin(), letters.end(), 'L');
  if (embeddings > blocks.front() || losses > blocks.back()) {
    return {.text = {},
            .problem =
                "a layout has all of the embedding on the first stage, and all of the head "
                "and the loss on the last one"};
  }
  return {.text = kLayoutOption + layoutOf(blocks, letters) + groundOf(names, letters),
          .problem = {}};
}

std::vector<FrameworkOption> optionsOfSchedule(std::string_view schedule, int chunks, int ranks,
                                               int microBatches) {
  const ScheduleInfo& info = scheduleInfo(schedule);
  const PlanSize size{ranks, microBatches, chunks};
  std::vector<FrameworkOption> options;
  addTorch(info, chunks, options);
  options.push_back(answerOf(kMegatron, &ScheduleInfo::megatron, info, size));
  options.push_back(answerOf(kDeepSpeed, &ScheduleInfo::deepSpeed, info, size));
  return options;
}

std::vector<FrameworkOption> optionsOfMicroBatches(int microBatches, int before) {
  const std::string count = std::to_string(microBatches);
  const std::string part = before > microBatches
                               ? std::to_string(before / microBatches) + " times what it is"
                               : "divided by " + std::to_string(microBatches / before);
  return {can(kTorch, "n_microbatches=" + count + " of the schedule"),
          can(kTitan, "parallelism.num_pp_microbatches = " + count +
                          ", training.num_tokens_per_microbatch_per_dp_rank " + part +
                          " (0.3.0: parallelism.pipeline_parallel_microbatch_size " + part + ")"),
          can(kMegatron, "--micro-batch-size " + part + ", the same --global-batch-size"),
          can(kDeepSpeed, "\"gradient_accumulation_steps\": " + count +
                              ", \"train_micro_batch_size_per_gpu\" " + part)};
}

std::vector<FrameworkOption> optionsOfPartition(const std::vector<int>& blocks,
                                                const std::vector<std::string>& names) {
  std::string bounds = "0";
  int first = 0;
  for (const int count : blocks) bounds += ", " + std::to_string(first += count);
  const bool isKnown = !blocks.empty();
  const std::string ofDeepSpeed =
      isKnown ? "a subclass of PipelineModule whose _partition_layers sets self.parts = [" +
                    bounds + "]"
              : "PipelineModule(partition_method=\"type:REGEX\"), or a subclass with a "
                "_partition_layers of its own";
  return {can(kTorch, "another module in each PipelineStage, or another split_spec of pipeline()"),
          can(kTitan,
              "parallelism.module_fqns_per_model_part, or "
              "parallelism.pipeline_parallel_first_stage_less_layers and "
              "..._last_stage_less_layers"),
          layoutOfMegatron(blocks, names), can(kDeepSpeed, ofDeepSpeed)};
}

std::vector<FrameworkOption> optionsOfMessageOrder() {
  return {can(kTorch,
              "the order of pipe-trace plan --transfers --csv by _load_csv(..., "
              "format=\"compute_comms\")"),
          cannot(kTitan, "parallelism.pipeline_parallel_schedule_csv has the order of jobs alone"),
          cannot(kMegatron,
                 "without chunks messages are in a batch that is waited for; overlap comes with "
                 "--num-virtual-stages-per-pipeline-rank"),
          cannot(kDeepSpeed, "each send and receive is waited for")};
}

std::vector<FrameworkOption> optionsOfMessageLines() {
  constexpr const char* kPerEdge =
      "TORCH_DISTRIBUTED_PIPELINE_PER_EDGE_P2P=1 in the environment (after torch 2.11, which has "
      "one communicator for all messages of a rank)";
  return {can(kTorch, kPerEdge), can(kTitan, kPerEdge),
          cannot(kMegatron, "all messages of a rank are of one process group"),
          cannot(kDeepSpeed, "each send and receive is waited for")};
}

std::vector<FrameworkOption> optionsOfWarmUp(const ScheduleInfo* like) {
  std::vector<FrameworkOption> options;
  if (like != nullptr) {
    addTorch(*like, 1, options);
  } else {
    addPlanFile(options);
  }
  options.push_back(cannot(kMegatron, "the warm-up of 1F1B is fixed there"));
  options.push_back(cannot(kDeepSpeed, "the warm-up is fixed there"));
  return options;
}

std::vector<FrameworkOption> optionsOfLaunches() {
  return {can(kTorch,
              "torch.compile(module, mode=\"reduce-overhead\") for GPipe, 1F1B, "
              "Interleaved1F1B and LoopedBFS"),
          can(kTitan, "compile.enable; its CUDA graphs are refused with pipelines"),
          can(kMegatron, "--cuda-graph-impl local"),
          can(kDeepSpeed, "engine.compile(compile_kwargs={\"mode\": \"reduce-overhead\"})")};
}

std::vector<FrameworkOption> optionsOfTokens() {
  return {can(kTorch,
              "micro-batches that you split yourself, with as many tokens each: "
              "step(arg_mbs=..., target_mbs=...) (after 2.11)"),
          can(kTitan,
              "micro-batches have a fixed number of tokens on main; FirstFitPackingConfig "
              "packs documents"),
          can(kMegatron, "--dataloader-type external, with a loader that packs by tokens"),
          can(kDeepSpeed,
              "\"data_efficiency\": {\"data_sampling\": {\"dynamic_batching\": ...}}, "
              "with \"max_tokens\"")};
}

std::vector<FrameworkOption> optionsOfLoad() {
  return {can(kTitan, "load_balance_coeff of the model's experts"),
          can(kMegatron,
              "--moe-router-enable-expert-bias, --moe-aux-loss-coeff 1e-2, or "
              "--moe-expert-capacity-factor")};
}

std::vector<FrameworkOption> optionsOfWeights() {
  return {can(kTorch,
              "set_modules_to_forward_prefetch() and set_modules_to_backward_prefetch() of FSDP2, "
              "or reshard_after_forward=False between micro-batches"),
          can(kTitan, "parallelism.fsdp_reshard_after_forward = \"never\""),
          can(kMegatron, "--overlap-param-gather with --overlap-grad-reduce")};
}

std::vector<FrameworkOption> optionsOfLoading() {
  return {can(kTorch, "DataLoader(num_workers=8, prefetch_factor=4, persistent_workers=True)"),
          can(kMegatron, "--num-workers 8")};
}

std::vector<FrameworkOption> optionsOfCollection() {
  return {can(kTorch, "gc.disable(), and gc.collect() at the same step on all ranks"),
          can(kTitan, "training.gc_freq, which is always on"),
          can(kMegatron,
              "--manual-gc with --manual-gc-interval 100; without an interval nothing "
              "is collected between steps"),
          can(kDeepSpeed,
              "\"disable_python_gc\": true (from 0.19.8 on), and "
              "engine.collect_python_gc() at the same step on all ranks")};
}

}  // namespace pipetrace
