#include "apps/cli/schedule_options.h"

#include <string>
#include <type_traits>
#include <variant>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"

namespace pipetrace {
namespace {

template <typename T>
CLI::Option* declared(CommandApp& app, const OptionFace& face, T& to, int most) {
  if constexpr (std::is_same_v<T, bool>) {
    return app.add_flag(face.names, to, helpOf(face));
  } else {
    CLI::Option* const option = app.add_option(face.names, to, helpOf(face))->type_name(face.value);
    if constexpr (!std::is_same_v<T, std::string>) return option->check(range(face.least, most));
    return face.mayBeEmpty ? option : option->check(notEmpty());
  }
}

}  // namespace

void addScheduleOptions(CommandApp& app, ScheduleOptions& to, int mostRanks, const char* group) {
  for (const ScheduleOption& each : kScheduleOptions) {
    const OptionFace& face = each.planned;
    if (face.names == nullptr) continue;
    const auto declare = [&](auto field) {
      auto& value = to.*field;
      const void* const ranks = &to.ranks;
      return declared(app, face, value, &value == ranks ? mostRanks : face.most);
    };
    CLI::Option* const option = std::visit(declare, each.field)->group(group);
    for (const char* const other : face.excludes) {
      if (other != nullptr) option->excludes(app.get_option(other));
    }
    if (face.needs != nullptr) option->needs(app.get_option(face.needs));
    if (face.words != nullptr) app.offer(option, face.words());
  }
  app.adviseOn([](const std::string& argument) {
    const bool isMeant = !argument.starts_with('-') && isSchedule(argument);
    return isMeant ? "--schedule " + argument : std::string();
  });
}

}  // namespace pipetrace
