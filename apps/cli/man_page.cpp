#include "apps/cli/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace pipetrace {
namespace {

/// The text for roff: minus signs that can be copied, and no line that roff takes for a macro.
std::string roff(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool opensLine = i == 0 || text[i - 1] == '\n';
    if (opensLine && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

/// The text in paragraphs; indented lines keep their layout.
std::string paragraphs(const std::string& text) {
  std::string out;
  bool isLaidOut = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool isIndented = line.starts_with(' ');
    if (isIndented != isLaidOut) out += isIndented ? ".PP\n.nf\n" : ".fi\n";
    isLaidOut = isIndented;
    out += line.empty() ? ".PP\n" : roff(line) + "\n";
  }
  return out + (isLaidOut ? ".fi\n" : "");
}

std::string synopsis(const std::string& program, const FlagTable& table) {
  std::string text = ".B " + roff(program);
  if (!table.command.empty()) text += " " + roff(table.command);
  text += "\n[\\fIOPTION\\fR]...\n";
  for (const Flag& flag : table.flags) {
    if (!flag.isPositional) continue;
    const std::string operand =
        "\\fI" + roff(flag.names.front()) + "\\fR" + (flag.isRepeated ? "..." : "");
    text += (flag.isRequired ? operand : "[" + operand + "]") + "\n";
  }
  return text;
}

std::string entry(const Flag& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.names) names.push_back("\\fB" + roff(name) + "\\fR");
  std::string text = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!flag.value.empty()) text += " \\fI" + roff(flag.value) + "\\fR";
  return text + "\n" + roff(flag.description) + "\n";
}

/// The options, group by group in the order of their first one.
std::string options(const FlagTable& table) {
  std::vector<std::string> groups;
  for (const Flag& flag : table.flags) {
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) {
      groups.push_back(flag.group);
    }
  }
  std::string text;
  for (const std::string& group : groups) {
    if (groups.size() > 1) text += ".PP\n\\fI" + roff(group) + "\\fR\n";
    for (const Flag& flag : table.flags) {
      if (flag.group == group) text += entry(flag);
    }
  }
  return text;
}

std::string upperCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

bool areSame(const std::vector<ExitCode>& a, const std::vector<ExitCode>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ExitCode& x, const ExitCode& y) {
                      return x.code == y.code && x.meaning == y.meaning;
                    });
}

std::string commandLine(const std::string& program, const FlagTable& table) {
  return program + (table.command.empty() ? "" : " " + table.command);
}

/// The exit codes, once for all commands that have the same.
std::string exitStatus(const std::string& program, const std::vector<FlagTable>& tables) {
  std::string text;
  for (auto first = tables.begin(); first != tables.end(); ++first) {
    const auto isLikeFirst = [&](const FlagTable& other) {
      return areSame(first->exitCodes, other.exitCodes);
    };
    if (std::any_of(tables.begin(), first, isLikeFirst)) continue;
    std::string commands;
    for (auto each = first; each != tables.end(); ++each) {
      if (isLikeFirst(*each))
        commands += (commands.empty() ? "" : ", ") + commandLine(program, *each);
    }
    text += ".PP\n" + roff(commands) + ":\n";
    for (const ExitCode& code : first->exitCodes) {
      text += ".TP\n\\fB" + roff(code.code) + "\\fR\n" + roff(code.meaning) + "\n";
    }
  }
  return text;
}

std::string examples(const std::vector<FlagTable>& tables) {
  std::string text;
  for (const FlagTable& table : tables) {
    for (const std::string& example : table.examples) {
      text += ".PP\n.nf\n" + roff(example) + "\n.fi\n";
    }
  }
  return text;
}

}  // namespace

std::string manPage(const Program& program, const std::string& version) {
  const std::vector<FlagTable> tables = program.flagTables();
  std::string text =
      fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                  upperCase(program.name), version, roff(program.name), roff(program.summary));
  for (const FlagTable& table : tables) {
    text += synopsis(program.name, table) + (&table == &tables.back() ? "" : ".br\n");
  }
  for (const FlagTable& table : tables) {
    if (table.command.empty()) {
      text += ".SH DESCRIPTION\n" + paragraphs(table.description);
      text += ".SH OPTIONS\n" + options(table);
    } else {
      text += ".SH " + upperCase(roff(commandLine(program.name, table))) + "\n" +
              paragraphs(table.description) + options(table);
    }
  }
  return text + ".SH EXIT STATUS\n" + exitStatus(program.name, tables) + ".SH EXAMPLES\n" +
         examples(tables);
}

}  // namespace pipetrace
