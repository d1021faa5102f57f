#include "analysis/advice/megatron_layout.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>

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

}  // namespace pipetrace
