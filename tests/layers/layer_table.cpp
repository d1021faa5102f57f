#include "tests/layers/layer_table.h"

#include <cctype>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace pipetrace::layers {
namespace {

std::vector<std::string> cellsOf(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row);
  std::string cell;
  std::getline(in, cell, '|');
  while (std::getline(in, cell, '|')) cells.push_back(cell);
  return cells;
}

/// "trace, schedule" or "`torch/`, `c10/`" -> its words.
std::set<std::string> wordsOf(const std::string& cell) {
  static const std::regex word("[^,`\\s]+");
  std::set<std::string> words;
  for (std::sregex_iterator it(cell.begin(), cell.end(), word), end; it != end; ++it) {
    words.insert(it->str());
  }
  return words;
}

bool startsWith(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool isQt(const std::string& header) {
  return header.size() > 1 && header[0] == 'Q' &&
         std::isupper(static_cast<unsigned char>(header[1]));
}

/// The row of the third-party table for `header`; "" for the standard library and the system.
std::string thirdPartyPrefix(const LayerTable& table, const std::string& header) {
  for (const auto& [prefix, folders] : table.thirdParty) {
    if (prefix == "Q" ? isQt(header) || startsWith(header, "Qt") : startsWith(header, prefix)) {
      return prefix;
    }
  }
  return "";
}

bool isSystem(const std::string& header) {
  for (const char* folder : {"sys/", "linux/", "netinet/", "arpa/"}) {
    if (startsWith(header, folder)) return true;
  }
  return header.find('/') == std::string::npos;
}

bool isTestFramework(const std::string& header) {
  for (const char* folder : {"gtest/", "gmock/", "benchmark/"}) {
    if (startsWith(header, folder)) return true;
  }
  return false;
}

/// Adds a line of the table of rooms, in which rooms are named relative to their folder.
void addRoom(LayerTable& table, const std::vector<std::string>& cells) {
  std::string room = *wordsOf(cells[0]).begin();
  room.pop_back();  // the slash
  const std::string folder = room.substr(0, room.find('/'));
  std::set<std::string>& allowed = table.rooms[room];
  for (const std::string& target : wordsOf(cells[1])) {
    if (target == "any") {
      table.openRooms.insert(room);
    } else {
      allowed.insert(target == "root" ? folder : folder + "/" + target);
    }
  }
}

/// Says whether the includes of a file from its own folder follow the table of rooms.
void checkRooms(const LayerTable& table, const std::string& path, const std::string& source,
                std::vector<std::string>& wrong) {
  const std::string room = roomOf(path);
  const std::string folder = path.substr(0, path.find('/'));
  const auto row = table.rooms.find(room);
  if (row == table.rooms.end()) {
    wrong.push_back(path + ": room " + room + "/ is not in the table");
    return;
  }
  if (isTest(path) || table.openRooms.count(room) > 0) return;
  for (const std::string& header : ownIncludesOf(source)) {
    const std::string target = roomOf(header);
    const bool isOfFolder = startsWith(header, folder + "/");
    if (isOfFolder && target != room && row->second.count(target) == 0) {
      wrong.push_back(path + ": " + room + "/ may not include \"" + header + "\"");
    }
  }
}

}  // namespace

bool isTest(const std::string& path) {
  static const std::regex test("_test\\.cpp$|/testing/|/fuzz/|/bench/");
  return startsWith(path, "tests/") || std::regex_search(path, test);
}

std::vector<std::string> ownIncludesOf(const std::string& source) {
  static const std::regex include(R"re((?:^|\n)\s*#\s*include\s*"([^"\n]+)")re");
  std::vector<std::string> headers;
  for (std::sregex_iterator it(source.begin(), source.end(), include), end; it != end; ++it) {
    headers.push_back((*it)[1]);
  }
  return headers;
}

std::string roomOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

LayerTable parseLayerTable(const std::string& markdown) {
  LayerTable table;
  std::istringstream in(markdown);
  std::string line;
  enum { kNone, kFolders, kRooms, kThirdParty } where = kNone;
  while (std::getline(in, line)) {
    if (startsWith(line, "| folder |"))
      where = kFolders;
    else if (startsWith(line, "| room |"))
      where = kRooms;
    else if (startsWith(line, "| headers |"))
      where = kThirdParty;
    else if (!startsWith(line, "|"))
      where = kNone;
    else if (where != kNone && !startsWith(line, "|---")) {
      const auto cells = cellsOf(line);
      if (where == kFolders && cells.size() >= 3) {
        std::string folder = *wordsOf(cells[0]).begin();
        folder.pop_back();  // the slash
        table.layer[folder] = std::stoi(cells[1]);
        table.mayInclude[folder] = wordsOf(cells[2]);
      } else if (where == kRooms && cells.size() >= 3) {
        addRoom(table, cells);
      } else if (where == kThirdParty && cells.size() >= 2) {
        for (std::string prefix : wordsOf(cells[0])) {
          if (prefix[0] == 'Q') prefix = "Q";
          table.thirdParty[prefix] = wordsOf(cells[1]);
        }
      }
    }
  }
  if (table.mayInclude.empty()) throw std::runtime_error("no table of folders");
  if (table.rooms.empty()) throw std::runtime_error("no table of rooms");
  if (table.thirdParty.empty()) throw std::runtime_error("no table of third-party headers");
  return table;
}

std::vector<std::string> checkIncludes(const LayerTable& table, const std::string& path,
                                       const std::string& source) {
  static const std::regex include(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  const std::string folder = path.substr(0, path.find('/'));
  const auto row = table.mayInclude.find(folder);
  if (row == table.mayInclude.end()) return {path + ": folder " + folder + "/ is not in the table"};

  std::vector<std::string> wrong;
  std::istringstream in(source);
  std::string line;
  std::smatch match;
  while (std::getline(in, line)) {
    if (!std::regex_search(line, match, include)) continue;
    const std::string header = match[2];
    if (match[1] == "\"") {
      const std::string target = header.substr(0, header.find('/'));
      if (header.find('/') == std::string::npos || header.find("..") != std::string::npos) {
        wrong.push_back(path + ": \"" + header + "\" is not written from the root");
      } else if (target != folder && row->second.count(target) == 0) {
        wrong.push_back(path + ": " + folder + "/ may not include \"" + header + "\"");
      }
      continue;
    }
    const std::string prefix = thirdPartyPrefix(table, header);
    if (!prefix.empty()) {
      // Tests read JSON to check it; Qt and LibTorch stay out of the parts that build without them.
      const bool forTests = folder == "tests" || (isTest(path) && prefix == "nlohmann/");
      if (table.thirdParty.at(prefix).count(folder) == 0 && !forTests) {
        wrong.push_back(path + ": " + folder + "/ may not use <" + header + ">");
      }
    } else if (isTestFramework(header)) {
      if (!isTest(path)) wrong.push_back(path + ": <" + header + "> belongs in tests");
    } else if (!isSystem(header)) {
      wrong.push_back(path + ": <" + header + "> is in no row of the table of third-party headers");
    }
  }
  checkRooms(table, path, source, wrong);
  return wrong;
}

}  // namespace pipetrace::layers
