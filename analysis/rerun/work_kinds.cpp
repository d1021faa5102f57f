#include "analysis/rerun/work_kinds.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr std::size_t kMostNames = 16;

/// Names with numbers say which job it is, not of what kind.
bool isNameOfKind(std::string_view name) {
  return !name.empty() && name.find_first_of("0123456789") == std::string_view::npos;
}

bool isToldApartByName(JobKind kind) {
  return isCollective(kind) || kind == JobKind::kData || kind == JobKind::kDefault;
}

}  // namespace

void WorkKinds::add(JobKind kind, const Event& event) {
  Names& names = names_[index(kind)];
  // Transfers are named by their direction.
  if (isTransfer(kind) && !names.kinds.empty()) return;
  if (names.latest == event.name) return;
  names.latest = event.name;
  if (names.kinds.size() <= kMostNames) names.kinds.emplace(event.name, Id{0});
}

void WorkKinds::add(const WorkKinds& other) {
  for (std::size_t k = 0; k < names_.size(); ++k) {
    for (const auto& [name, id] : other.names_[k].kinds) {
      if (names_[k].kinds.size() <= kMostNames) names_[k].kinds.emplace(name, Id{0});
    }
  }
}

std::uint16_t WorkKinds::setNamed(const std::string& name) {
  const auto found = std::find(setNames_.begin(), setNames_.end(), name);
  const auto index = static_cast<std::uint16_t>(found - setNames_.begin());
  if (found == setNames_.end()) setNames_.push_back(name);
  return index;
}

void WorkKinds::finish() {
  for (std::size_t k = 0; k < names_.size(); ++k) {
    Names& names = names_[k];
    if (names.kinds.empty()) continue;
    const auto kind = static_cast<JobKind>(k);
    const bool isCommunication = isTransfer(kind) || isCollective(kind);
    const auto addKind = [&](const std::string& name) {
      kinds_.push_back({isCommunication, setNamed(name)});
      return static_cast<Id>(kinds_.size() - 1);
    };
    const auto nameOf = [&](StringId name) {
      return std::string(name == 0 ? logName(kind) : timeline_.strings[name]);
    };
    names.isOne = !isToldApartByName(kind) || names.kinds.size() > kMostNames;
    if (isTransfer(kind)) {
      names.kind = addKind(isForwardTransfer(kind) ? "forward-pp-comm" : "backward-pp-comm");
    } else if (names.isOne) {
      const StringId name = names.kinds.begin()->first;
      const bool isItsName = names.kinds.size() == 1 && isNameOfKind(timeline_.strings[name]);
      names.kind = addKind(nameOf(isItsName ? name : StringId{0}));
    } else {
      for (auto& [name, id] : names.kinds) id = addKind(nameOf(name));
    }
  }
}

}  // namespace pipetrace
