#include "apps/cli/completions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pipetrace {
namespace {

std::string replaced(std::string text, char what, const std::string& with) {
  std::string out;
  for (const char c : text) {
    if (c == what) {
      out += with;
    } else {
      out += c;
    }
  }
  return out;
}

/// The text in single quotes, as bash and zsh read them.
std::string inQuotes(const std::string& text) { return "'" + replaced(text, '\'', "'\\''") + "'"; }

std::vector<std::string> commandNames(const std::vector<FlagTable>& tables) {
  std::vector<std::string> names;
  for (const FlagTable& table : tables) {
    if (!table.command.empty()) names.push_back(table.command);
  }
  return names;
}

std::string functionName(const std::string& program) { return "_" + replaced(program, '-', "_"); }

/// The endings as a part of a regular expression: "json|json\\.gz"; empty: any.
std::string endingsPattern(const std::vector<std::string>& endings) {
  std::string pattern;
  for (const std::string& ending : endings) {
    pattern += (pattern.empty() ? "" : "|") + replaced(ending, '.', "\\.");
  }
  return pattern;
}

/// The options of one command: those with choices, those with another value, and all. Files are
/// offered only for a value that may be a file.
std::string bashCase(const FlagTable& table) {
  std::vector<std::string> all;
  std::vector<std::string> withFile;
  std::vector<std::string> withOther;
  std::string choices;
  for (const Flag& flag : table.flags) {
    if (flag.isPositional) continue;
    all.insert(all.end(), flag.names.begin(), flag.names.end());
    if (const std::vector<std::string> words = flag.choices(); !words.empty()) {
      choices +=
          fmt::format("        {}) words={}; isValue=yes files={} ;;\n", fmt::join(flag.names, "|"),
                      inQuotes(fmt::format("{}", fmt::join(words, " "))),
                      flag.takesFile() ? "yes endings=''" : "no");
    } else if (!flag.value.empty()) {
      auto& names = flag.takesFile() ? withFile : withOther;
      names.insert(names.end(), flag.names.begin(), flag.names.end());
    }
  }
  // An operand like `completions SHELL` that is one of some words.
  std::string operands;
  std::string endings;
  for (const Flag& flag : table.flags) {
    if (!flag.isPositional) continue;
    endings = endingsPattern(flag.endings);
    for (const std::string& word : flag.choices()) operands += " " + word;
  }
  std::string text = fmt::format("    {})\n      options={}\n      operands={}\n",
                                 table.command.empty() ? "''" : table.command,
                                 inQuotes(fmt::format("{}", fmt::join(all, " "))),
                                 inQuotes(operands.empty() ? "" : operands.substr(1)));
  if (!table.takesFiles()) text += "      files=no\n";
  if (!endings.empty()) text += "      endings=" + inQuotes(endings) + "\n";
  text += "      case $previous in\n" + choices;
  if (!withFile.empty()) {
    text +=
        fmt::format("        {}) isValue=yes files=yes endings='' ;;\n", fmt::join(withFile, "|"));
  }
  if (!withOther.empty()) {
    text += fmt::format("        {}) isValue=yes files=no ;;\n", fmt::join(withOther, "|"));
  }
  return text + "      esac ;;\n";
}

/// After "--" the first word is a program, and the others are its arguments.
std::string bashProgram() {
  return "  if [ -z \"$command\" ]; then\n"
         "    local at\n"
         "    for ((at = 1; at < COMP_CWORD; ++at)); do\n"
         "      [ \"${COMP_WORDS[at]}\" = -- ] || continue\n"
         "      local IFS=$'\\n'\n"
         "      if [ \"$COMP_CWORD\" -eq $((at + 1)) ]; then\n"
         "        COMPREPLY=($(compgen -d -- \"$current\"; compgen -c -- \"$current\"))\n"
         "      else\n"
         "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "      fi\n"
         "      return 0\n"
         "    done\n"
         "  fi\n";
}

std::string bashScript(const std::string& program, const std::vector<FlagTable>& tables) {
  const std::string commands = fmt::format("{}", fmt::join(commandNames(tables), " "));
  std::string text = fmt::format(
      "# bash completion of {0}; made by `{0} completions bash`.\n"
      "{1}() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local command='' options='' operands='' words='' isValue=no files=yes endings='' lead=''\n"
      "  COMPREPLY=()\n"
      "  # bash takes --option=value for three words, unless COMP_WORDBREAKS has no =.\n"
      "  case $current in\n"
      "    =) current='' ;;\n"
      "    --*=*) lead=${{current%%=*}}= previous=${{current%%=*}} current=${{current#*=}} ;;\n"
      "    *) [ \"$previous\" != = ] || previous=${{COMP_WORDS[COMP_CWORD-2]}} ;;\n"
      "  esac\n"
      "  if [ \"$COMP_CWORD\" -gt 1 ]; then\n"
      "    case ${{COMP_WORDS[1]}} in {2}) command=${{COMP_WORDS[1]}} ;; esac\n"
      "  fi\n"
      "{3}"
      "  case $command in\n",
      program, functionName(program), fmt::join(commandNames(tables), "|"),
      tables.front().takesProgram() ? bashProgram() : "");
  for (const FlagTable& table : tables) text += bashCase(table);
  text += fmt::format(
      "  esac\n"
      "  if [ $isValue = no ]; then\n"
      "    case $current in\n"
      "      -*) words=$options ;;\n"
      "      *) words=$operands\n"
      "         [ \"$COMP_CWORD\" -gt 1 ] || words='{}' ;;\n"
      "    esac\n"
      "  fi\n"
      "  local IFS=$'\\n'\n"
      "  [ -z \"$words\" ] || COMPREPLY=($(IFS=' '; compgen -W \"$words\" -- \"$current\"))\n"
      "  case $words in -*) files=no ;; esac\n"
      "  if [ $files = yes ] && [ -z \"$endings\" ]; then\n"
      "    COMPREPLY+=($(compgen -f -- \"$current\"))\n"
      "  elif [ $files = yes ]; then\n"
      "    COMPREPLY+=($(compgen -d -- \"$current\"\n"
      "                  compgen -f -- \"$current\" | grep -E \"\\.($endings)\\$\"))\n"
      "  fi\n"
      "  [ -z \"$lead\" ] || COMPREPLY=(\"${{COMPREPLY[@]/#/$lead}}\")\n"
      "  return 0\n"
      "}}\n"
      "complete -o filenames -F {} {}\n",
      commands, functionName(program), program);
  return text;
}

/// The text with escapes for the characters that _arguments reads.
std::string zshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zshValue(const Flag& flag) {
  const std::vector<std::string> words = flag.choices();
  if (!words.empty() && !flag.isPositional && flag.takesFile()) {
    return fmt::format(R"z(:value:_alternative "words\:word\:({})" "files\:file\:_files")z",
                       fmt::join(words, " "));
  }
  if (!words.empty()) return fmt::format(":value:({})", fmt::join(words, " "));
  if (!flag.isPositional && flag.value.empty()) return "";
  const std::string what = ":" + zshText(flag.isPositional ? flag.names.front() : flag.value);
  if (!flag.takesFile()) return what + ": ";
  if (flag.endings.empty()) return what + ":_files";
  return what + fmt::format(":_files -g \"*.({})\"", fmt::join(flag.endings, "|"));
}

/// After "--" the first word is a program, and the others are its arguments.
std::string zshProgram() {
  return "  local dashes=${words[(i)--]}\n"
         "  if [[ -z $command ]] && (( dashes < CURRENT )); then\n"
         "    words=(\"${(@)words[dashes+1,-1]}\")\n"
         "    (( CURRENT -= dashes ))\n"
         "    if (( CURRENT == 1 )); then _normal; else _files; fi\n"
         "    return\n"
         "  fi\n";
}

std::string zshCase(const FlagTable& table) {
  std::string text = fmt::format("    {})\n      _arguments -s \\\n",
                                 table.command.empty() ? "''" : table.command);
  for (const Flag& flag : table.flags) {
    if (flag.isProgram) continue;
    for (const std::string& name : flag.names) {
      const std::string spec =
          flag.isPositional ? "*" + zshValue(flag)
                            : "*" + name + "[" + zshText(flag.description) + "]" + zshValue(flag);
      text += "        " + inQuotes(spec) + " \\\n";
    }
  }
  return text + "        && return ;;\n";
}

std::string zshScript(const std::string& program, const std::vector<FlagTable>& tables) {
  std::string text = fmt::format(
      "#compdef {0}\n"
      "# zsh completion of {0}; made by `{0} completions zsh`.\n"
      "{1}() {{\n"
      "  local command=''\n"
      "  if (( CURRENT > 2 )); then\n"
      "    case $words[2] in {2}) command=$words[2]; shift words; (( CURRENT-- )) ;; esac\n"
      "  elif (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n",
      program, functionName(program), fmt::join(commandNames(tables), "|"));
  for (const FlagTable& table : tables) {
    if (!table.command.empty()) {
      text += "      " + inQuotes(table.command + ":" + zshText(table.summary)) + "\n";
    }
  }
  text +=
      "    )\n"
      "    _describe command commands\n"
      "  fi\n";
  if (tables.front().takesProgram()) text += zshProgram();
  text += "  case $command in\n";
  for (const FlagTable& table : tables) text += zshCase(table);
  return text + "  esac\n}\n" + functionName(program) + " \"$@\"\n";
}

std::string fishText(const std::string& text) {
  return "'" + replaced(replaced(text, '\\', "\\\\"), '\'', "\\'") + "'";
}

std::string fishLine(const std::string& program, const std::string& condition, const Flag& flag) {
  std::string text = fmt::format("complete -c {} -n {}", program, fishText(condition));
  for (const std::string& name : flag.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  const std::vector<std::string> words = flag.choices();
  if (!words.empty()) {
    text += fmt::format(" {} -a '{}'", flag.takesFile() ? "-r -F" : "-x", fmt::join(words, " "));
  } else if (!flag.value.empty()) {
    text += flag.takesFile() ? " -r -F" : " -x";
  }
  return text + " -d " + fishText(flag.description) + "\n";
}

/// A command that lists folders, and files with such an ending. Its groups do not capture, as fish
/// would print each capture.
std::string fishFiles(const std::vector<std::string>& endings) {
  return fmt::format(
      "(__fish_complete_path (commandline -ct) | string match -re \"(?:/|\\.(?:{}))(?:\\t|\\$)\")",
      endingsPattern(endings));
}

/// After "--" the first word is a program, and the others are its arguments.
std::string fishProgram(const std::string& program) {
  const std::string function = "_" + functionName(program);
  return fmt::format(
      "function {1}_has_dashes\n"
      "  contains -- -- (commandline -opc)\n"
      "end\n"
      "function {1}_words\n"
      "  set -l before (commandline -opc)\n"
      "  if test \"$before[-1]\" = --\n"
      "    complete -C (commandline -ct)\n"
      "  else\n"
      "    __fish_complete_path (commandline -ct)\n"
      "  end\n"
      "end\n"
      "complete -c {0} -n '{1}_has_dashes' -f -a '({1}_words)'\n",
      program, function);
}

std::string fishScript(const std::string& program, const std::vector<FlagTable>& tables) {
  const std::string commands = fmt::format("{}", fmt::join(commandNames(tables), " "));
  const bool takesProgram = tables.front().takesProgram();
  const std::string beforeDashes =
      takesProgram ? "not _" + functionName(program) + "_has_dashes; and " : "";
  const std::string noCommand = beforeDashes + "not __fish_seen_subcommand_from " + commands;
  std::string text =
      fmt::format("# fish completion of {0}; made by `{0} completions fish`.\n", program);
  if (takesProgram) text += fishProgram(program);
  for (const FlagTable& table : tables) {
    const std::string condition =
        table.command.empty() ? noCommand
                              : beforeDashes + "__fish_seen_subcommand_from " + table.command;
    if (!table.takesFiles()) {
      text += fmt::format("complete -c {} -n '{}' -f\n", program, condition);
    }
    if (!table.command.empty()) {
      text += fmt::format("complete -c {} -n '__fish_use_subcommand' -a {} -d {}\n", program,
                          table.command, fishText(table.summary));
    }
    for (const Flag& flag : table.flags) {
      if (!flag.isPositional) {
        text += fishLine(program, condition, flag);
      } else if (const auto words = flag.choices(); !words.empty()) {
        text += fmt::format("complete -c {} -n '{}' -f -a '{}'\n", program, condition,
                            fmt::join(words, " "));
      } else if (!flag.endings.empty()) {
        text += fmt::format("complete -c {} -n '{}' -f -a {}\n", program, condition,
                            inQuotes(fishFiles(flag.endings)));
      }
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> completionShells() { return {"bash", "zsh", "fish"}; }

std::string completionScript(const std::string& shell, const std::string& program,
                             const std::vector<FlagTable>& tables) {
  if (shell == "bash") return bashScript(program, tables);
  if (shell == "zsh") return zshScript(program, tables);
  return fishScript(program, tables);
}

}  // namespace pipetrace
