#include "parser/foreign/names/programs/program_names.h"

namespace pipetrace {

std::span<const ProgramNames> programNames() {
  static const ProgramNames programs[] = {
      {"torch", torchNames(), {}},         {"megatron", megatronNames(), {}},
      {"deepspeed", deepspeedNames(), {}}, {"torchtitan", torchtitanNames(), torchNames()},
      {"paddle", paddleNames(), {}},       {"nemo", nemoNames(), megatronNames()},
  };
  return programs;
}

}  // namespace pipetrace
